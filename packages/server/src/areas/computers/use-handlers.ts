/** Commands, files and figures of computers that run. */
import { WORKLOAD_JSON_FILE_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Guest } from "../../ports/runtime/port.ts"
import type { CommandInput } from "../../services/workloads/commands.ts"
import {
  type FileInput,
  fileFault,
  isNoFile,
  readFileInputs,
  resolveGuestPath,
  writeFiles,
} from "../../services/workloads/files.ts"
import type { TerminalInput } from "../../services/workloads/terminals.ts"
import type { Workloads } from "../../services/workloads/workloads.ts"
import type { ComputerItem } from "./policy.ts"
import { HOME } from "./rules.ts"
import type { ComputerRow } from "./store.ts"

/** All of the machine is its owner's. */
const EVERYWHERE: readonly string[] = []

const outside = (path: string) => fault("invalid_parameter", { reason: `${path} cannot be reached` })

const checkedPath = (path: string): string => {
  if (!path.startsWith("/")) throw fault("invalid_parameter", { reason: `${path} is not an absolute path` })
  return resolveGuestPath(path, "/")
}

const readJsonFile = async (guest: Guest, path: string) => {
  const { stat, bytes } = await guest.readFile(path, EVERYWHERE)
  if (stat.sizeBytes > WORKLOAD_JSON_FILE_BYTES_MAX) {
    bytes.destroy()
    throw fault("invalid_parameter", { reason: `${path} has more than 16 MiB` })
  }
  const chunks: Buffer[] = await bytes.toArray()
  const content = Buffer.concat(chunks)
  return {
    path,
    content: content.toString("base64"),
    encoding: "base64" as const,
    size: content.length,
    mode: `0${(stat.mode & 0o777).toString(8).padStart(3, "0")}`,
    modified_at: stat.modifiedAt.toISOString(),
  }
}

export const useHandlers = (use: Workloads<ComputerRow, ComputerItem>["use"]) => ({
  exec: ({ id, ...input }: { id: string } & CommandInput, call: Call) => use.runCommand(call, id, input),
  metrics: ({ id }: { id: string }, call: Call) => use.metrics(call, id),

  terminal({ id, ...input }: { id: string } & TerminalInput, call: Call) {
    // As after a login by ssh.
    const cwd = input.cwd ?? (input.user === "root" ? "/root" : HOME)
    return use.openTerminal(call, id, { ...input, cwd })
  },

  async readFile({ id, path }: { id: string; path?: string }, call: Call) {
    if (path === undefined) throw fault("path_required")
    const absolute = checkedPath(path)
    return await use.with(call, id, ({ guest }) =>
      readJsonFile(guest, absolute).catch(error => {
        throw isNoFile(error) ? fault("file_not_found", { path }) : fileFault(error, path, outside)
      }),
    )
  },

  async writeFiles({ id, files = [] }: { id: string; files?: readonly FileInput[] }, call: Call) {
    const read = readFileInputs(files, checkedPath)
    await use.with(call, id, ({ guest }) =>
      writeFiles(guest, read, { roots: EVERYWHERE, user: "user", outside }),
    )
  },
})
