import { parseJson } from "../../kernel/exact-json.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Directory } from "./directory.ts"
import type { Invoker } from "./invoker.ts"
import type { FunctionCaller, FunctionOf } from "./offers.ts"

const parse = (body: string): unknown => {
  try {
    return parseJson(body)
  } catch {
    return body
  }
}

/** Functions as other areas call them: by name, with a status in place of an outcome. */
export const createFunctionCaller = (directory: Directory, invoker: Invoker): FunctionCaller => {
  const find = async ({ organizationId, projectId, name }: FunctionOf) =>
    directory.find({ organizationId, projectId }, name)

  return {
    async check(of) {
      await find(of)
    },
    async invoke(of, { body, timeoutMs, signal, trigger }) {
      signal.throwIfAborted()
      try {
        const row = await find(of)
        const { status, result, error } = await invoker.invoke({
          ...{ row, trigger, timeoutMs, signal, frame: { t: "invoke", event: parse(body) } },
          ...{ payloadBytes: Buffer.byteLength(body), requestId: null },
        })
        if (status === "success") return { status: 200, body: JSON.stringify(result) }
        return { status: status === "timeout" ? 504 : 500, body: JSON.stringify(error) }
      } catch (error) {
        if (!isFault(error)) throw error
        return { status: error.status, body: error.message }
      }
    },
  }
}
