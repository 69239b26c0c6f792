import * as fs from "node:fs/promises"
import * as Effect from "effect/Effect"

/** Linux' `statfs` types of file systems that share files between machines or with a host, where WAL's shared memory fails. */
const shared: ReadonlyMap<number, string> = new Map([
  [0x6969, "nfs"],
  [0x517b, "smb"],
  [0xff534d42, "cifs"],
  [0xfe534d42, "smb2"],
  [0x01021997, "9p"],
  // Also virtiofs, sshfs and the folder sharing of desktop virtual machines.
  [0x65735546, "fuse"],
  [0x786f4256, "vboxsf"],
  [0xbacbacbc, "vmhgfs"],
  [0x00c36400, "ceph"],
  [0x5346414f, "afs"],
  [0x6b414653, "afs"],
  [0x73757245, "coda"],
  [0x0bd00bd0, "lustre"],
  [0x47504653, "gpfs"],
  [0x01161970, "gfs2"],
  [0x7461636f, "ocfs2"]
])

/** By `statfs`, whose types mean something on Linux only; elsewhere, and where it fails, a folder is taken for local. */
export const probe = (folder: string): Effect.Effect<{ readonly name: string; readonly local: boolean }> =>
  process.platform !== "linux"
    ? Effect.succeed({ name: "unknown", local: true })
    : Effect.match(
        Effect.tryPromise(() => fs.statfs(folder)),
        {
          onFailure: () => ({ name: "unknown", local: true }),
          onSuccess: ({ type }) => {
            // A 32-bit field that some platforms sign-extend.
            const name = shared.get(type >>> 0)
            return name === undefined ? { name: `0x${(type >>> 0).toString(16)}`, local: true } : { name, local: false }
          }
        }
      )
