import { createGuard } from "@svc/server/src/areas/sql/guard.ts"
import { isFault } from "@svc/server/src/kernel/fault.ts"
import type { CheckReadOnly } from "../validate.ts"

/** The server's own check whether a statement only reads; its thread ends when it is disposed of. */
export const openReadOnlyCheck = (): AsyncDisposable & { readonly check: CheckReadOnly } => {
  const guard = createGuard()
  return {
    async check(sql) {
      try {
        await guard.check(sql, "request")
      } catch (error) {
        if (isFault(error, "invalid_sql")) return error.message
        throw error
      }
      return undefined
    },
    [Symbol.asyncDispose]: () => guard[Symbol.asyncDispose](),
  }
}
