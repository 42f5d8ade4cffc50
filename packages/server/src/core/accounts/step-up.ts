import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"

const FRESH_MS = 15 * 60_000

/** Acts that cannot be undone ask for a password proven in the last 15 minutes, so that a stolen session cannot do them. */
export const checkStepUp = ({ principal, now }: Pick<Call, "principal" | "now">) => {
  const provenAt = principal.session?.authenticatedAt.getTime() ?? Number.NEGATIVE_INFINITY
  if (now.getTime() - provenAt > FRESH_MS) throw fault("step_up_required")
}
