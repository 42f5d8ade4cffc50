import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { defineService } from "../../kernel/service.ts"
import { clock, outbound } from "../../kernel/tokens.ts"
import type { PushOptions } from "./index.ts"
import { push } from "./port.ts"

/** Where devices are is what users say, so drivers reach them by the guarded client alone. */
const transportOf = ({ request, connect }: Outbound): Pick<PushOptions, "fetch" | "connect"> => ({
  async fetch(given) {
    const answer = await request(given)
    if (answer.kind === "answered") return answer
    return { kind: "unanswered", isFinal: answer.kind === "refused", message: answer.message }
  },
  async connect(url, signal) {
    const made = await connect(url, signal)
    if (made.kind === "connected") return made
    return { kind: "unanswered", isFinal: made.kind === "refused", message: made.message }
  },
})

export const pushService = defineService({
  provides: push,
  needs: { clock, outbound },
  async open({ clock, outbound }, { opened }) {
    const { openPush } = await import("./index.ts")
    return opened.use(openPush({ ...transportOf(outbound), clock }))
  },
})
