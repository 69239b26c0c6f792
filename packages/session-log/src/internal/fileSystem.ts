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

/** Names for the usual local ones. */
const local: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x2fc12fc1, "zfs"],
  [0xf2f52010, "f2fs"],
  [0x01021994, "tmpfs"],
  [0x794c7630, "overlay"]
])

const unknown = { name: "unknown", local: true }

/** By `statfs`, whose types mean something on Linux only; elsewhere, and where it fails, a folder is taken for local. */
export const probe = (folder: string): Effect.Effect<{ readonly name: string; readonly local: boolean }> =>
  process.platform !== "linux"
    ? Effect.succeed(unknown)
    : Effect.match(
        Effect.tryPromise(() => fs.statfs(folder)),
        {
          onFailure: () => unknown,
          onSuccess: (stats) => {
            // A 32-bit field that some platforms sign-extend.
            const type = stats.type >>> 0
            const name = shared.get(type)
            return name === undefined
              ? { name: local.get(type) ?? `0x${type.toString(16)}`, local: true }
              : { name, local: false }
          }
        }
      )
