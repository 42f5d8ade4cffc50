import { openedToken } from "../../kernel/token.ts"
import type { Serving, ServingKind } from "./serving.ts"

export interface ServingService {
  open(kind: ServingKind): Promise<Serving>
}

/** Runs programs that answer requests, as many as there are requests for. */
export const serving = openedToken<ServingService>("serving")
