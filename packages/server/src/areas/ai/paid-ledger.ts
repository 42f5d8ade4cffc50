/** The budget of AI, and behind it the credit of organizations that pay by credit. */
import { newId } from "../../kernel/id.ts"
import type { Ledger } from "../../services/ledger/ledger.ts"
import { type AiLedger, type Ask, RESERVATION_MS, type Reservation } from "./ledger.ts"

const NANOS_PER_MICRO = 1_000

/** Rounded up: a request costs a millionth at least, if it costs anything. */
const toMicros = (nanos: number): number => Math.ceil(nanos / NANOS_PER_MICRO)

export const createPaidLedger = ({
  budget,
  money,
}: {
  readonly budget: AiLedger
  readonly money: Ledger
}): AiLedger => {
  /** Credit first: what is refused for want of it does not count among the requests of the day. */
  const reservePaid = async (ask: Ask): Promise<Reservation> => {
    const hold = await money.hold({
      organizationId: ask.organizationId,
      reference: `ai:${newId()}`,
      leastMicros: toMicros(ask.leastNanos),
      mostMicros: toMicros(ask.mostNanos),
      owedMicros: toMicros(ask.inputNanos),
      description: "AI",
      lastsMs: RESERVATION_MS,
    })
    const mostNanos = Math.min(ask.mostNanos, hold.grantedMicros * NANOS_PER_MICRO)
    const reservation = await budget.reserve({ ...ask, mostNanos }).catch(error => {
      hold.void()
      throw error
    })
    return {
      grantedNanos: reservation.grantedNanos,
      isLimited: true,
      settle(costNanos) {
        reservation.settle(costNanos)
        hold.post(toMicros(costNanos))
      },
      isOwn: () => hold.void(),
      release() {
        reservation.release()
        hold.void()
      },
    }
  }

  return {
    ...budget,
    reserve: async ask => {
      if (!ask.isCharged || ask.mostNanos === 0) return budget.reserve(ask)
      const mode = await money.modeOf(ask.organizationId)
      return mode === "credit" ? reservePaid(ask) : budget.reserve(ask)
    },
    async settled() {
      await budget.settled()
      await money.settled()
    },
  }
}
