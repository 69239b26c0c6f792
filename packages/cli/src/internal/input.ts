import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { CliError } from "../CliError.js"
import { failure } from "../CliError.js"

/** The text of a file, or of stdin for `-`. Bytes that are no UTF-8 become `�`. */
export const text = (file: string): Stream.Stream<string, CliError, FileSystem.FileSystem> =>
  Stream.decodeText(file === "-" ? stdin : ofFile(file))

const stdin: Stream.Stream<Uint8Array, CliError> = NodeStream.fromReadable<CliError, Uint8Array>(
  () => process.stdin,
  (error) =>
    failure("input_unreadable", `stdin cannot be read: ${error instanceof Error ? error.message : String(error)}`)
)

const ofFile = (file: string): Stream.Stream<Uint8Array, CliError, FileSystem.FileSystem> =>
  Stream.unwrap(Effect.map(FileSystem.FileSystem, (fileSystem) => fileSystem.stream(file))).pipe(
    Stream.mapError((error) => {
      const reason =
        error instanceof SystemError && error.reason === "NotFound" ? "there is no such file" : error.message
      return failure("input_unreadable", `${file} cannot be read: ${reason}`)
    })
  )
