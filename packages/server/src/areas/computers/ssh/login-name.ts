/** The user name of an ssh client: which computer it means, and who it wants to be there. */
import { isUuid } from "../../../kernel/id.ts"
import type { GuestUser } from "../../../ports/runtime/port.ts"

export interface LoginName {
  readonly user: GuestUser
  /** Both when a computer of one project is named; the name alone when only the key tells whose it is. */
  readonly computer: { readonly id: string } | { readonly name: string; readonly ownerId: string | undefined }
}

const ROOT = "root+"
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * `<name>`, `<name>.<id of its project or organization>` or `<id>`, after `root+` for root. Undefined for what no
 * computer is called.
 */
export const readLoginName = (text: string): LoginName | undefined => {
  const user = text.startsWith(ROOT) ? "root" : "user"
  const rest = user === "root" ? text.slice(ROOT.length) : text
  if (isUuid(rest)) return { user, computer: { id: rest.toLowerCase() } }
  const dot = rest.indexOf(".")
  const name = dot < 0 ? rest : rest.slice(0, dot)
  const owner = dot < 0 ? undefined : rest.slice(dot + 1)
  if (!NAME.test(name) || (owner !== undefined && !isUuid(owner))) return undefined
  return { user, computer: { name, ownerId: owner?.toLowerCase() } }
}
