/** Tools that are no operations: they find others, call them, and wait for approvals. */

import { areas, type Operation, T, type TObject } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { every } from "../../kernel/every.ts"
import { fault } from "../../kernel/fault.ts"
import { isJsonObject } from "../../kernel/json-object.ts"
import { close, jsonValidator } from "../../kernel/validation.ts"
import type { Caller } from "./caller.ts"
import { jsonResult, resultOf, type ToolResult } from "./results.ts"
import { searchTools } from "./search.ts"
import { definitionFor, isAdmitted, operationTools, type ToolDefinition } from "./tools.ts"

export interface Helper {
  readonly definition: ToolDefinition
  run(given: Readonly<Record<string, unknown>>, call: Call): Promise<ToolResult>
}

interface HelperSpec<Input> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: TObject
  readonly readOnly: boolean
  run(input: Input, call: Call): ToolResult | Promise<ToolResult>
}

/** Checks the arguments, completes them and runs the tool. */
const helper = <Input>({ name, title, description, input, readOnly, run }: HelperSpec<Input>): Helper => {
  const validator = jsonValidator("arguments", input)
  return {
    definition: {
      name,
      title,
      description,
      inputSchema: close(input) as Record<string, unknown>,
      annotations: { title, readOnlyHint: readOnly, destructiveHint: !readOnly, idempotentHint: readOnly },
    },
    async run(given, call) {
      const completed = { ...given }
      const [wrong] = validator.check(completed) ?? []
      if (wrong) throw fault("invalid_parameter", { reason: `${wrong.location} ${wrong.message}` })
      return run(completed as Input, call)
    },
  }
}

const ToolName = T.String({ minLength: 1, maxLength: 128, description: "Name of a tool" })

export const operationNamed = (name: string): Operation => {
  const operation = operationTools.get(name)
  if (!operation) throw fault("tool_not_found", { name: name.slice(0, 128) })
  return operation
}

const search = helper<{ query: string; limit: number }>({
  name: "search_tools",
  title: "Find tools",
  description:
    "Find tools by words. Each found one is called by call_tool; describe_tool shows its arguments.",
  input: T.Object({
    query: T.String({ minLength: 1, maxLength: 500, description: "Words, such as `create bucket`" }),
    limit: T.Integer({ minimum: 1, maximum: 50, default: 10, description: "Most tools in the result" }),
  }),
  readOnly: true,
  run: ({ query, limit }, { principal }) => jsonResult({ tools: searchTools(principal, query, limit) }),
})

const describe = helper<{ name: string }>({
  name: "describe_tool",
  title: "Show a tool",
  description: "Show the arguments of a tool, what it replies, and an example.",
  input: T.Object({ name: ToolName }),
  readOnly: true,
  run({ name }, { principal }) {
    const operation = operationNamed(name)
    const replies = Object.entries(operation.replies).map(([status, schema]) => [status, schema ?? {}])
    return jsonResult({
      ...definitionFor(name, operation),
      toolset: operation.area,
      admitted: isAdmitted(operation, principal),
      scope: operation.scope,
      replies: Object.fromEntries(replies),
      ...(operation.example && { example: operation.example }),
    })
  },
})

const callTool = (caller: Caller) =>
  helper<{ name: string; arguments: Record<string, unknown> }>({
    name: "call_tool",
    title: "Call a tool",
    description: "Call a tool that is not in the list, with its arguments.",
    input: T.Object({
      name: ToolName,
      arguments: T.Object({}, { additionalProperties: true, default: {}, description: "Its arguments" }),
    }),
    readOnly: false,
    run: ({ name, arguments: given }, call) => caller.run(operationNamed(name), given, call),
  })

interface HelperNeeds {
  readonly caller: Caller
  readonly inProcess: InProcessCaller
  readonly clock: Clock
}

const POLL_MS = 1_000
/** Decisions and the run that follows an approval are still to come. */
const OPEN: ReadonlySet<unknown> = new Set(["pending", "approved", "executing"])

const waitForApproval = ({ inProcess, clock }: HelperNeeds) =>
  helper<{ id: string; timeout_seconds: number }>({
    name: "wait_for_approval",
    title: "Wait for an approval",
    description:
      "Wait until a person has decided about a call that waits for approval. The result has the status, and the reply of the call once it has run.",
    input: T.Object({
      id: T.String({ format: "uuid", description: "The approval's id" }),
      timeout_seconds: T.Integer({
        minimum: 0,
        maximum: 300,
        default: 50,
        description: "How long to wait at most",
      }),
    }),
    readOnly: true,
    async run({ id, timeout_seconds }, call) {
      const ask = () =>
        inProcess({
          operation: areas.approvals.operations.get.name,
          input: { id },
          principal: call.principal,
          project: null,
          ip: call.ip,
          signal: call.signal,
        })
      const untilMs = clock.now() + timeout_seconds * 1000
      let { reply } = await ask()
      const isOpen = () => reply.status === 200 && isJsonObject(reply.body) && OPEN.has(reply.body.status)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = async () => {
        reply = (await ask()).reply
        if (!isOpen() || clock.now() >= untilMs) resolve()
      }
      if (isOpen() && timeout_seconds > 0) {
        await using _ticking = every(clock, POLL_MS, () => look().catch(reject))
        call.signal.addEventListener("abort", () => resolve(), { once: true })
        if (!call.signal.aborted) await promise
      }
      return resultOf(reply, call.target)
    },
  })

export const createHelpers = (needs: HelperNeeds): ReadonlyMap<string, Helper> =>
  new Map(
    [search, describe, callTool(needs.caller), waitForApproval(needs)].map(each => [
      each.definition.name,
      each,
    ]),
  )
