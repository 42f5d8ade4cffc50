import { areas, type Input, NOTIFICATION_DATA_BYTES_MAX, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { Notifier } from "../../kernel/notifier.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { type DeviceHandlerNeeds, deviceHandlers } from "./device-handlers.ts"
import { toMarked, toNotification } from "./payloads.ts"
import { preferenceHandlers } from "./preference-handlers.ts"
import { type ProviderHandlerNeeds, providerHandlers } from "./provider-handlers.ts"
import type { Recipients } from "./recipients.ts"
import { isActionUrl } from "./rules.ts"
import type { Sender, SentTo } from "./sending.ts"
import { sendingStore } from "./sending-store.ts"
import { type EntryRow, inboxStore } from "./store.ts"
import type { InboxStreams } from "./stream.ts"

type Specs = typeof areas.notifications.specs

export interface NotificationHandlerNeeds extends DeviceHandlerNeeds, ProviderHandlerNeeds {
  readonly recipients: Recipients
  readonly send: Sender
  readonly notifier: Notifier
  readonly streams: InboxStreams
}

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

const checkContent = ({ data = {}, action_url }: Input<Specs["send"]>) => {
  if (Buffer.byteLength(JSON.stringify(data)) > NOTIFICATION_DATA_BYTES_MAX)
    throw invalid(`data must be at most ${NOTIFICATION_DATA_BYTES_MAX} bytes of JSON`)
  if (typeof action_url === "string" && !isActionUrl(action_url))
    throw invalid("action_url must be an address of http or https, or a path")
}

const addressed = async (
  recipients: Recipients,
  { to, all = false }: Input<Specs["send"]>,
  call: Call,
): Promise<readonly string[]> => {
  if (to !== undefined) {
    if (all) throw invalid("either to or all, not both")
    return recipients.resolve(call, [to].flat())
  }
  return all ? sendingStore(call.db).members(call.organization.id) : [await recipients.own(call)]
}

const sendHandler = ({ recipients, send }: NotificationHandlerNeeds) => ({
  async send(input: Input<Specs["send"]>, call: Call): Promise<SentTo> {
    const { organization, project, owner, db, now } = call
    checkContent(input)
    const to = await addressed(recipients, input, call)
    const store = sendingStore(db)
    const { dedupe_key: key } = input
    const dedupe = key === undefined ? undefined : { organizationId: organization.id, ownerId: owner, key }
    const known = dedupe && (await store.takeKey(dedupe, now))
    if (known !== undefined) return { ...(known as SentTo), duplicate: true }
    const sent = await send(db, {
      ...{ organizationId: organization.id, projectId: project?.id ?? null, recipients: to, now },
      ...{ channels: input.channels ?? ["in_app", "push"] },
      ...{ type: input.type ?? null, category: input.category ?? null, title: input.title },
      ...{ body: input.body ?? "", data: input.data ?? {}, actionUrl: input.action_url ?? null },
      ...{ priority: input.priority ?? "default", collapseKey: input.collapse_key ?? null },
      ttlSeconds: input.ttl_seconds,
    })
    if (dedupe) await store.keepResult(dedupe, sent)
    call.describe({
      targets: [{ type: "notification", id: sent.id }],
      metadata: { recipient_count: sent.recipient_count },
    })
    return sent
  },
})

const readingHandlers = ({ recipients, streams }: NotificationHandlerNeeds) => ({
  async list(input: Input<Specs["list"]>, call: Call) {
    const inbox = await recipients.inbox(call, input.user_id)
    const { read, archived = false, category, type } = input
    const filter = { read, archived, category, type, since: dateOf(input.since), until: dateOf(input.until) }
    const store = inboxStore(call.db)
    const { rows, total } = await store.list(inbox, filter, pageOf(input), call.now)
    const deliveries = await store.deliveries(
      inbox,
      rows.map(({ id }) => id),
    )
    return page({ rows: rows.map(row => toNotification(row, deliveries)), total }, input)
  },

  async get({ id, user_id }: Input<Specs["get"]>, call: Call) {
    const inbox = await recipients.inbox(call, user_id)
    const store = inboxStore(call.db)
    const row = await requireRow(store.find(inbox, id, call.now), "notification_not_found", { id })
    return toNotification(row, await store.deliveries(inbox, [row.id]))
  },

  async unreadCount({ user_id }: Input<Specs["unreadCount"]>, call: Call) {
    const inbox = await recipients.inbox(call, user_id)
    return { unread_count: await inboxStore(call.db).unreadCount(inbox, call.now) }
  },

  async stream({ user_id }: Input<Specs["stream"]>, call: Call) {
    // A stream is declared as the text it is made of; the edge writes it as it comes.
    return streams.open(await recipients.inbox(call, user_id), call) as never
  },
})

type Marks = Partial<Pick<EntryRow, "read_at" | "seen_at" | "archived_at">>

const markingHandlers = ({ recipients, notifier }: NotificationHandlerNeeds) => {
  const marking =
    (marksAt: (now: Date) => Marks) =>
    async ({ id, user_id }: Input<Specs["read"]>, call: Call) => {
      const inbox = await recipients.inbox(call, user_id)
      const row = await requireRow(
        inboxStore(call.db).mark(inbox, id, marksAt(call.now), call.now),
        "notification_not_found",
        { id },
      )
      call.describe({ targets: [{ type: "notification", id }] })
      call.committed(() => notifier.notify([inbox.userId]))
      return toMarked(row)
    }

  return {
    read: marking(now => ({ read_at: now, seen_at: now })),
    unread: marking(() => ({ read_at: null })),
    seen: marking(now => ({ seen_at: now })),
    archive: marking(now => ({ archived_at: now })),

    async readAll({ user_id, category, before }: Input<Specs["readAll"]>, call: Call) {
      const inbox = await recipients.inbox(call, user_id)
      const filter = { category, before: dateOf(before) }
      const updated = await inboxStore(call.db).readAll(inbox, filter, call.now)
      call.describe({ metadata: { updated } })
      call.committed(() => notifier.notify([inbox.userId]))
      return { updated }
    },
  }
}

export const notificationHandlers = implement(areas.notifications, (needs: NotificationHandlerNeeds) => ({
  ...sendHandler(needs),
  ...readingHandlers(needs),
  ...markingHandlers(needs),
  ...deviceHandlers(needs),
  ...preferenceHandlers(needs),
  ...providerHandlers(needs),
}))
