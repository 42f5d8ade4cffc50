/** Commands, files and figures of computers that run. */
import { WORKLOAD_JSON_FILE_BYTES_MAX } from "@svc/contract"
import type { Hosts } from "../../core/hosts/hosts.ts"
import { collectCommand } from "../../core/workloads/command-replies.ts"
import { type CommandInput, commandOf } from "../../core/workloads/commands.ts"
import {
  type FileInput,
  fileFault,
  isNoFile,
  readFileInputs,
  resolveGuestPath,
  writeFiles,
} from "../../core/workloads/files.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { commandFault } from "../../core/workloads/served.ts"
import { checkEnv } from "../../core/workloads/shape.ts"
import type { TerminalInput, Terminals } from "../../core/workloads/terminals.ts"
import { readMetrics } from "../../core/workloads/usage.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { ComputerItem } from "./items.ts"
import { notRunning, usable } from "./lookup.ts"

export interface UseHandlerNeeds {
  readonly fleet: Fleet<ComputerItem>
  readonly hosts: Hosts
  readonly runtime: RuntimePort
  readonly terminals: Terminals<ComputerItem>
}

/** All of the machine is its owner's. */
const EVERYWHERE: readonly string[] = []

const outside = (path: string) => fault("invalid_parameter", { reason: `${path} cannot be reached` })

const checkedPath = (path: string): string => {
  if (!path.startsWith("/")) throw fault("invalid_parameter", { reason: `${path} is not an absolute path` })
  return resolveGuestPath(path, "/")
}

export const useHandlers = (needs: UseHandlerNeeds) => {
  const { fleet, runtime } = needs
  return {
    async exec({ id, ...input }: { id: string } & CommandInput, call: Call) {
      const live = await usable(needs, call, id)
      checkEnv(input.env)
      using _held = fleet.hold(live)
      try {
        return await collectCommand(live.guest, commandOf(input, live.item.defaults), input, call.signal)
      } catch (error) {
        throw commandFault(error, () => (fleet.find(id) ? undefined : notRunning("STOPPED")))
      }
    },

    terminal: async ({ id, ...input }: { id: string } & TerminalInput, call: Call) => {
      const live = await usable(needs, call, id)
      call.describe({ targets: [{ type: "computer", id }] })
      // As after a login by ssh.
      const cwd = input.cwd ?? (input.user === "root" ? "/root" : live.item.defaults.cwd)
      try {
        await needs.terminals.open(call, live, { ...input, cwd })
      } catch (error) {
        throw commandFault(error, () => (fleet.find(id) ? undefined : notRunning("STOPPED")))
      }
    },

    async readFile({ id, path }: { id: string; path?: string }, call: Call) {
      if (path === undefined) throw fault("path_required")
      const absolute = checkedPath(path)
      const live = await usable(needs, call, id)
      using _held = fleet.hold(live)
      try {
        const { stat, bytes } = await live.guest.readFile(absolute, EVERYWHERE)
        if (stat.sizeBytes > WORKLOAD_JSON_FILE_BYTES_MAX) {
          bytes.destroy()
          throw fault("invalid_parameter", { reason: `${path} has more than 16 MiB` })
        }
        const chunks: Buffer[] = await bytes.toArray()
        const content = Buffer.concat(chunks)
        return {
          ...{ path: absolute, content: content.toString("base64"), encoding: "base64" as const },
          size: content.length,
          mode: `0${(stat.mode & 0o777).toString(8).padStart(3, "0")}`,
          modified_at: stat.modifiedAt.toISOString(),
        }
      } catch (error) {
        throw isNoFile(error) ? fault("file_not_found", { path }) : fileFault(error, path, outside)
      }
    },

    async writeFiles({ id, files = [] }: { id: string; files?: readonly FileInput[] }, call: Call) {
      const read = readFileInputs(files, checkedPath)
      const live = await usable(needs, call, id)
      using _held = fleet.hold(live)
      await writeFiles(live.guest, read, { roots: EVERYWHERE, user: "user", outside })
    },

    async metrics({ id }: { id: string }, call: Call) {
      return await readMetrics(runtime, await usable(needs, call, id), call.now)
    },
  }
}
