/** The protocol itself, by the official package: each message is answered alone, by a server made for it. */
import { API_VERSION, type areas, type Result } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import { errorResult } from "./results.ts"
import type { Toolbox } from "./toolbox.ts"

type Answer = Result<(typeof areas.mcp.specs)["message"]>

export interface Endpoint extends AsyncDisposable {
  answer(message: object, call: Call, toolsets: string | undefined): Promise<Answer>
}

/** One message on its way through the package, which passes it on as it is. */
interface Exchange {
  readonly call: Call
  readonly toolsets: string | undefined
  /** A refusal that is not the tool's: the whole request is answered with it. */
  refusal?: Fault
}

const INSTRUCTIONS = `Svc is a cloud behind one API. The tools in the list are those that are used most; search_tools finds all
others, describe_tool shows their arguments, and call_tool calls them. A result with status pending_approval waits for a person:
wait_for_approval tells what they decided.`

/** Headers by which the protocol says what a message is. */
const PROTOCOL_HEADERS = ["content-type", "mcp-protocol-version", "mcp-method", "mcp-name"]

/** The package refuses clients that do not name both kinds of answer; what they get is JSON whatever they name. */
const headersOf = (call: Call): Record<string, string> =>
  Object.fromEntries([
    ["accept", "application/json, text/event-stream"],
    ...PROTOCOL_HEADERS.flatMap(name => {
      const value = call.header(name)
      return value === undefined ? [] : [[name, value]]
    }),
  ])

/** What keeps the caller from the tool is told to the model, which may choose another. */
const refusedResult = (error: unknown, exchange: Exchange) => {
  if (!isFault(error)) throw error
  if (error.details.elsewhere || error.status >= 500) {
    exchange.refusal = error
    throw error
  }
  return errorResult(`${error.publicCode}: ${error.message}`)
}

const open = async (toolbox: Toolbox) => {
  const { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } = await import(
    "@modelcontextprotocol/server"
  )

  const serverFor = (exchange: Exchange) => {
    const { call, toolsets } = exchange
    const server = new Server(
      { name: "svc", title: "Svc", version: API_VERSION },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS.replaceAll("\n", " ") },
    )
    server.setRequestHandler("tools/list", ({ params }) => {
      try {
        return toolbox.list(call, { toolsets, cursor: params?.cursor }) as never
      } catch (error) {
        if (isFault(error)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
        throw error
      }
    })
    server.setRequestHandler("tools/call", async ({ params }) => {
      try {
        return (await toolbox.call(params.name, params.arguments ?? {}, call)) as never
      } catch (error) {
        if (isFault(error, "tool_not_found"))
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
        return refusedResult(error, exchange) as never
      }
    })
    return server
  }
  return createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.exchange as Exchange), {
    // The list of tools does not change, so a subscription would be a stream without events that never ends.
    maxSubscriptions: 0,
  })
}

type Handler = Awaited<ReturnType<typeof open>>

const ask = async (handler: Handler, message: object, exchange: Exchange): Promise<Response> => {
  const { call } = exchange
  const request = new Request(`http://svc.invalid${call.operation.path}`, {
    method: "POST",
    headers: headersOf(call),
    signal: call.signal,
  })
  const response = await handler.fetch(request, {
    parsedBody: message,
    // The pipeline has authenticated the caller; this only carries the call.
    authInfo: { token: "", clientId: call.principal.id, scopes: [], extra: { exchange } },
  })
  if (exchange.refusal) throw exchange.refusal
  return response
}

/** The one message of a stream of events, which is how the package answers clients of 2025. */
const messageOf = (text: string, type: string): string => {
  if (!type.startsWith("text/event-stream")) return text
  const lines = text.split("\n").filter(line => line.startsWith("data: {"))
  return lines.at(-1)?.slice("data: ".length) ?? ""
}

/** JSON-RPC errors have the protocol's own form and status; bytes go on as they are. */
const answerOf = async (response: Response): Promise<Answer> => {
  const type = response.headers.get("content-type") ?? ""
  const body = Buffer.from(messageOf(await response.text(), type))
  const headers = body.length > 0 ? { "content-type": "application/json; charset=utf-8" } : {}
  return { status: response.status, body, headers } as unknown as Answer
}

export const createEndpoint = (toolbox: Toolbox): Endpoint => {
  let opening: Promise<Handler> | undefined
  return {
    async answer(message, call, toolsets) {
      if (call.header("content-type") === undefined) throw fault("unsupported_media_type")
      opening ??= open(toolbox)
      return answerOf(await ask(await opening, message, { call, toolsets }))
    },
    async [Symbol.asyncDispose]() {
      const handler = await opening
      await handler?.close()
    },
  }
}
