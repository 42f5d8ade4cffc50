import { isForgeable, refusesReadOnly } from "@svc/contract"
import type { Exchange, Stage } from "../exchange.ts"
import { fault } from "../fault.ts"

/** What this kind of credential may never do, whatever its scopes. */
export const restrict =
  (isOwnOrigin: (origin: string) => boolean): Stage =>
  exchange => {
    const { operation, principal } = exchange
    if (operation.scope === "public") return undefined
    if (principal.key?.type === "publishable" && operation.scope !== "publishable") {
      throw fault("publishable_key_not_allowed")
    }
    if (operation.scope === "session" && principal.type !== "session") throw fault(operation.refusals.session)
    if (operation.scope === "end-user" && principal.type !== "end_user") throw fault("token_invalid")
    if (principal.readOnly && refusesReadOnly(operation)) throw fault("key_read_only")
    if (principal.type === "session" && isForgeable(operation)) checkOrigin(exchange, isOwnOrigin)
    return undefined
  }

/** A browser sends the cookie along with a foreign page's request too; only our own pages may use it (CSRF). */
const checkOrigin = ({ incoming }: Exchange, isOwnOrigin: (origin: string) => boolean) => {
  if (incoming.principal) return
  const origin = incoming.header("origin")
  const site = incoming.header("sec-fetch-site")
  const ours = origin !== undefined ? isOwnOrigin(origin) : site === "same-origin" || site === "none"
  if (!ours) throw fault("csrf_failed")
}
