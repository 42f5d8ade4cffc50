import { openedToken } from "../../kernel/token.ts"
import type { Ledger } from "./ledger.ts"

/** The money of organizations: what they have, hold and are charged. */
export const ledger = openedToken<Ledger>("ledger")
