import { acceptedMask, admits, type Scope } from "@svc/contract"
import type { Principal } from "./call.ts"
import { fault } from "./fault.ts"

export const holds = ({ held }: Pick<Principal, "held">, scope: Scope): boolean =>
  admits(held, acceptedMask(scope))

/** For what a call does beside that which its declaration names: it takes the scope of that as well. */
export const requireScope = ({ principal }: { readonly principal: Principal }, scope: Scope): void => {
  if (!holds(principal, scope)) throw fault("missing_scope", { scopes: scope })
}
