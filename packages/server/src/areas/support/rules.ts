/** Which statuses follow which: pure tables, for tickets and chats. */
import type { ChatStatus, TicketStatus } from "@svc/contract"

/** Who acts. */
export type AuthorRole = "customer" | "agent"

type Moves = { readonly [From in TicketStatus]: readonly TicketStatus[] }

const ANY_STATUS = ["open", "pending", "on_hold", "resolved", "closed"] as const

/** The statuses that each side may set. A status may always be set to what it is, but for `closed`, which is final. */
const ticketMoves: Readonly<Record<AuthorRole, Moves>> = {
  customer: {
    open: ["open", "resolved", "closed"],
    pending: ["pending", "open", "resolved", "closed"],
    on_hold: ["on_hold", "resolved", "closed"],
    resolved: ["resolved", "open", "closed"],
    closed: [],
  },
  agent: {
    ...{ open: ANY_STATUS, pending: ANY_STATUS, on_hold: ANY_STATUS, resolved: ANY_STATUS },
    closed: [],
  },
}

export const mayMove = (side: AuthorRole, from: TicketStatus, to: TicketStatus): boolean =>
  ticketMoves[side][from].includes(to)

/** What a comment that both sides see makes of a ticket; null where it takes none. */
const afterComments: Readonly<Record<AuthorRole, { readonly [From in TicketStatus]: TicketStatus | null }>> =
  {
    customer: { open: "open", pending: "open", on_hold: "on_hold", resolved: "open", closed: null },
    agent: { open: "pending", pending: "pending", on_hold: "on_hold", resolved: "resolved", closed: null },
  }

export const statusAfterComment = (side: AuthorRole, from: TicketStatus): TicketStatus | null =>
  afterComments[side][from]

interface Stamps {
  readonly status: string
  readonly resolved_at: Date | null
  readonly closed_at: Date | null
}

/** The status and the times that go with it. */
export const moved = ({ status: from, resolved_at, closed_at }: Stamps, to: TicketStatus, now: Date) => {
  if (from === to) return { status: to, resolved_at, closed_at }
  if (to === "closed") return { status: to, resolved_at, closed_at: now }
  return { status: to, resolved_at: to === "resolved" ? now : null, closed_at: null }
}

/** A message of the customer's brings a chat back to the agents, one of theirs leaves it with the customer. */
export const chatStatusAfter = (side: AuthorRole): ChatStatus => (side === "customer" ? "open" : "pending")
