import * as FileSystem from "node:fs/promises"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import { ShellNotFound, WorkdirNotFound } from "../ShellError.js"

/** The executable that a name stands for in a search path; a path stands for itself. */
export const resolveShell = (shell: string, searchPath: string): Effect.Effect<string, ShellNotFound> => {
  const candidates = shell.includes("/") ? [shell] : searchPath.split(":").map((folder) => Path.join(folder, shell))
  const missing = new ShellNotFound({ code: "shell_not_found", shell })
  // A relative path would depend on where this host was started.
  return candidates
    .filter((path) => Path.isAbsolute(path))
    .reduce<Effect.Effect<string, ShellNotFound>>(
      (found, path) => Effect.orElse(found, () => Effect.mapError(executable(path), () => missing)),
      missing
    )
}

const executable = (path: string): Effect.Effect<string, unknown> =>
  Effect.tryPromise(async () => {
    await FileSystem.access(path, FileSystem.constants.X_OK)
    const found = await FileSystem.stat(path)
    if (!found.isFile()) throw new Error("not a file")
    return path
  })

/** Fails unless a command can be started in this folder. */
export const resolveWorkdir = (workdir: string): Effect.Effect<void, WorkdirNotFound> =>
  Effect.tryPromise({
    try: async () => {
      const found = await FileSystem.stat(workdir)
      if (found.isDirectory()) await FileSystem.access(workdir, FileSystem.constants.X_OK)
      return found.isDirectory()
    },
    catch: (error) => workdirNotFound(workdir, reasonOf((error as NodeJS.ErrnoException).code))
  }).pipe(Effect.flatMap((isFolder) => (isFolder ? Effect.void : workdirNotFound(workdir, "is not a folder"))))

const workdirNotFound = (workdir: string, reason: string) =>
  new WorkdirNotFound({ code: "workdir_not_found", workdir, reason })

const reasonOf = (code: string | undefined): string =>
  code === "ENOENT"
    ? "does not exist"
    : code === "EACCES"
      ? "may not be entered"
      : code === "ENOTDIR"
        ? "is not a folder"
        : `cannot be used (${code ?? "unknown reason"})`
