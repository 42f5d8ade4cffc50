/** What callers do with workloads that run: commands, terminals, metrics, and whatever else an area needs one for. */
import type { Readable } from "node:stream"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { collectCommand, streamCommand } from "./command-replies.ts"
import { type CommandInput, commandOf } from "./commands.ts"
import type { Fleet } from "./fleet.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import { commandFault } from "./served.ts"
import { checkEnv } from "./shape.ts"
import type { TerminalInput, Terminals } from "./terminals.ts"
import { readMetrics } from "./usage.ts"
import type { Live } from "./workload.ts"

export interface WorkloadUseNeeds<Item extends CommandWorkload> {
  readonly runtime: RuntimePort
  readonly fleet: Fleet<Item>
  readonly terminals: Terminals<Item>
  readonly usable: (call: Call, id: string) => Promise<Live<Item>>
}

export const createWorkloadUse = <Row extends WorkloadRow, Item extends CommandWorkload>(
  { resource, faults }: WorkloadPolicy<Row, Item>,
  { runtime, fleet, terminals, usable }: WorkloadUseNeeds<Item>,
) => {
  const refused = (error: unknown, { item }: Live<Item>): unknown =>
    commandFault(error, () =>
      fleet.find(item.spec.id) ? undefined : fault(faults.notRunning, { state: "STOPPED" }),
    )

  return {
    usable,
    hold: fleet.hold,

    /** Runs `work` with one that runs, which is not idle meanwhile. */
    async with<Result>(call: Call, id: string, work: (live: Live<Item>) => Promise<Result>): Promise<Result> {
      const live = await usable(call, id)
      using _held = fleet.hold(live)
      return await work(live)
    },

    async runCommand(call: Call, id: string, input: CommandInput) {
      const live = await usable(call, id)
      checkEnv(input.env)
      using _held = fleet.hold(live)
      try {
        return await collectCommand(live.guest, commandOf(input, live.item.defaults), input, call.signal)
      } catch (error) {
        throw refused(error, live)
      }
    },

    async streamCommand(call: Call, id: string, input: CommandInput): Promise<Readable> {
      const live = await usable(call, id)
      checkEnv(input.env)
      const held = fleet.hold(live)
      try {
        const command = commandOf(input, live.item.defaults)
        const stream = await streamCommand(live.guest, command, input, call.signal)
        stream.once("close", () => held[Symbol.dispose]())
        call.setHeader("content-type", "text/event-stream")
        call.setHeader("cache-control", "no-store")
        return stream
      } catch (error) {
        held[Symbol.dispose]()
        throw refused(error, live)
      }
    },

    async openTerminal(call: Call, id: string, input: TerminalInput): Promise<void> {
      const live = await usable(call, id)
      call.describe({ targets: [{ type: resource, id }] })
      try {
        await terminals.open(call, live, input)
      } catch (error) {
        throw refused(error, live)
      }
    },

    metrics: async (call: Call, id: string) => await readMetrics(runtime, await usable(call, id), call.now),
  }
}
