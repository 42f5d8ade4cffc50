/** What the links in mails lead to. */
import type { areas } from "@svc/contract"
import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { AccountCall } from "../../../kernel/call.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import type { Recipient } from "../delivery.ts"
import { countEvents, recordEvents } from "../sending/events.ts"
import { suppressionKey, suppressionStore } from "../suppression/store.ts"
import { isMachine } from "./machines.ts"
import { PAGE_HEADERS, type Page, pages } from "./pages.ts"
import type { SigningKeys } from "./signing-keys.ts"
import { readToken, type Token, type TokenKind } from "./tokens.ts"

type Specs = typeof areas.email.specs
type LinkOperation = "trackOpen" | "trackClick" | "unsubscribePage" | "unsubscribe"

export interface TrackingNeeds {
  readonly database: Database
  readonly keys: SigningKeys
  readonly platformEvents: PlatformEvents
}

/** The smallest GIF there is: one transparent pixel. */
const PIXEL = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64")
/** Of one kind and recipient: who holds a link must not fill the database with it. */
const EVENTS_MAX = 50
const USER_AGENT_LENGTH_MAX = 300

/** Locked, so that what is counted of a recipient stays so until the transaction ends. */
const findRecipient = (tx: Db, { organizationId, recipientId }: Recipient) =>
  tx
    .selectFrom("email.recipients")
    .where("organization_id", "=", organizationId)
    .where("id", "=", recipientId)
    .select(["email_id", "address"])
    .forUpdate()
    .executeTakeFirst()

const showPage = (call: AccountCall, page: Page): Page => {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) call.setHeader(name, value)
  return page
}

export const trackingHandlers = ({
  database,
  keys,
  platformEvents,
}: TrackingNeeds): Pick<Handlers<Specs>, LinkOperation> => {
  const verified = async (kind: TokenKind, text: string): Promise<Token | undefined> => {
    const token = readToken(kind, text)
    if (!token) return undefined
    const secret = await keys.find(token.organizationId)
    return secret && token.isSignedBy(secret) ? token : undefined
  }

  /** A link must work for whom it was sent to, also when what it tells of cannot be written. */
  const record = async (call: AccountCall, token: Token, event: "opened" | "clicked") => {
    const { ip, userAgent, now } = call
    const seen = { ip, user_agent: userAgent?.slice(0, USER_AGENT_LENGTH_MAX) ?? null }
    const details = {
      machine: isMachine(userAgent),
      ...(event === "clicked" ? { click: { link: token.url, ...seen } } : { open: seen }),
    }
    const { organizationId, recipientId } = token
    try {
      await database.transaction(async tx => {
        const found = await findRecipient(tx, token)
        if (!found || (await countEvents(tx, token, found.email_id, event)) >= EVENTS_MAX) return
        await recordEvents(tx, platformEvents, [{ organizationId, recipientId, event, details, at: now }])
      })
    } catch (error) {
      call.log.warn({ err: error, event }, "recording an open or click of a mail failed")
    }
  }

  const unsubscribe = (token: Token, at: Date) =>
    database.transaction(async tx => {
      const { organizationId, recipientId } = token
      const found = await findRecipient(tx, token)
      if (!found) throw fault("resource_not_found")
      await suppressionStore(tx).add({
        ...{ organization_id: organizationId, address: suppressionKey(found.address) },
        ...{ reason: "unsubscribe", origin: "recipient", source_email_id: found.email_id, created_at: at },
      })
      if ((await countEvents(tx, token, found.email_id, "unsubscribed")) > 0) return
      const event = { organizationId, recipientId, event: "unsubscribed", details: {}, at } as const
      await recordEvents(tx, platformEvents, [event])
    })

  return {
    /** Always the picture: a token that is none must not show as a broken one, nor tell that it is. */
    async trackOpen({ token: text }, call) {
      const token = await verified("open", text)
      if (token) await record(call, token, "opened")
      call.setHeader("content-type", "image/gif")
      return PIXEL
    },

    async trackClick({ token: text }, call) {
      const token = await verified("click", text)
      if (!token) throw fault("resource_not_found")
      await record(call, token, "clicked")
      call.setHeader("location", new URL(token.url).href)
      call.setHeader("referrer-policy", "no-referrer")
    },

    async unsubscribePage({ token: text }, call) {
      if (!(await verified("unsubscribe", text))) throw fault("resource_not_found")
      return showPage(call, pages.question)
    },

    async unsubscribe({ token: text }, call) {
      // What the form says is known: nothing else is ever asked here.
      call.stream.resume()
      const token = await verified("unsubscribe", text)
      if (!token) throw fault("resource_not_found")
      await unsubscribe(token, call.now)
      call.describe({ tenantId: token.organizationId })
      return showPage(call, pages.done)
    },
  }
}
