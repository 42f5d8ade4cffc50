import type { RecipientStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"
import type { MailAddress } from "./addresses.ts"

type JsonColumn = "to_addresses" | "cc_addresses" | "reply_to" | "headers" | "tags"

export type MessageRow = Omit<Tables["email.messages"], JsonColumn> & {
  readonly to_addresses: readonly MailAddress[]
  readonly cc_addresses: readonly MailAddress[]
  readonly reply_to: MailAddress | null
  readonly headers: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
}
export type RecipientRow = Omit<Tables["email.recipients"], "status"> & { readonly status: RecipientStatus }
export type AttachmentRow = Tables["email.attachments"]
/** A captured mail with whom it was for. */
export interface CapturedRow {
  readonly recipient: RecipientRow
  readonly message: MessageRow
}

/** Whose mails: all of an organization, or those of one of its projects. */
export interface Owner {
  readonly organizationId: string
  /** Null: the whole organization. */
  readonly projectId: string | null
}

interface Slice {
  readonly limit: number
  readonly offset: number
}

const asMessage = (row: unknown): MessageRow => row as MessageRow
const asRecipient = (row: unknown): RecipientRow => row as RecipientRow

const SHARDS = 16

/** Rows of email.messages and what belongs to them; every statement names the organization. */
export const messageStore = (db: Db) => {
  const own = ({ organizationId, projectId }: Owner) =>
    db
      .selectFrom("email.messages as message")
      .where("message.organization_id", "=", organizationId)
      .$if(projectId !== null, query => query.where("message.project_id", "=", projectId))

  const captured = (owner: Owner) =>
    own(owner)
      .innerJoin("email.recipients as recipient", "recipient.email_id", "message.id")
      .where("recipient.organization_id", "=", owner.organizationId)
      .where("recipient.captured_at", "is not", null)

  return {
    async insert(
      message: MessageRow,
      recipients: readonly RecipientRow[],
      attachments: readonly AttachmentRow[],
    ) {
      const { to_addresses, cc_addresses, reply_to, headers, tags, ...plain } = message
      const row = {
        ...plain,
        to_addresses: JSON.stringify(to_addresses),
        cc_addresses: JSON.stringify(cc_addresses),
        reply_to: reply_to && JSON.stringify(reply_to),
        ...{ headers: JSON.stringify(headers), tags: JSON.stringify(tags) },
      }
      await db.insertInto("email.messages").values(row).execute()
      await db
        .insertInto("email.recipients")
        .values([...recipients])
        .execute()
      if (attachments.length > 0)
        await db
          .insertInto("email.attachments")
          .values([...attachments])
          .execute()
    },

    async find(owner: Owner, id: string): Promise<MessageRow | undefined> {
      const row = await own(owner).where("message.id", "=", id).selectAll("message").executeTakeFirst()
      return row && asMessage(row)
    },

    async list(
      owner: Owner,
      filter: Slice & { recipient?: string | undefined; template?: string | undefined },
    ) {
      const { recipient, template, limit, offset } = filter
      const matching = own(owner)
        .$if(template !== undefined, query => query.where("message.template", "=", template ?? null))
        .$if(recipient !== undefined, query =>
          query.where(({ exists, selectFrom }) =>
            exists(
              selectFrom("email.recipients as r")
                .whereRef("r.email_id", "=", "message.id")
                .where("r.organization_id", "=", owner.organizationId)
                .where(sql`lower(r.address)`, "=", recipient?.toLowerCase() ?? "")
                .select("r.id"),
            ),
          ),
        )
      const rows = await matching
        .selectAll("message")
        .orderBy("message.created_at", "desc")
        .orderBy("message.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await matching
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return { rows: rows.map(asMessage), total }
    },

    async recipientsOf(organizationId: string, emailIds: readonly string[]): Promise<RecipientRow[]> {
      if (emailIds.length === 0) return []
      const rows = await db
        .selectFrom("email.recipients")
        .where("organization_id", "=", organizationId)
        .where("email_id", "in", [...emailIds])
        .selectAll()
        .orderBy("position")
        .execute()
      return rows.map(asRecipient)
    },

    async findRecipient(organizationId: string, id: string): Promise<RecipientRow | undefined> {
      const row = await db
        .selectFrom("email.recipients")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .selectAll()
        .executeTakeFirst()
      return row && asRecipient(row)
    },

    /** How many were still waiting. Their rows are locked in the order of `settleRecipients`. */
    async cancel(organizationId: string, emailId: string, at: Date): Promise<number> {
      const waiting = db
        .selectFrom("email.recipients")
        .where("organization_id", "=", organizationId)
        .where("email_id", "=", emailId)
        .where("status", "in", ["queued", "delayed"])
        .select("id")
        .orderBy("id")
        .forUpdate()
      const { numUpdatedRows } = await db
        .updateTable("email.recipients")
        .where("organization_id", "=", organizationId)
        .where("id", "in", waiting)
        .set({ status: "cancelled", updated_at: at })
        .executeTakeFirst()
      return Number(numUpdatedRows)
    },

    async listCaptured(owner: Owner, { to, limit, offset }: Slice & { to?: string | undefined }) {
      const matching = captured(owner).$if(to !== undefined, query =>
        query.where(sql`lower(recipient.address)`, "=", to?.toLowerCase() ?? ""),
      )
      const rows = await matching
        .selectAll("message")
        .select(["recipient.id as recipient_id", "recipient.address", "recipient.captured_at"])
        .orderBy("recipient.captured_at", "desc")
        .orderBy("recipient.id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await matching
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return { rows, total }
    },

    async findCaptured(owner: Owner, id: string): Promise<CapturedRow | undefined> {
      const found = await captured(owner)
        .where("recipient.id", "=", id)
        .select("message.id as email_id")
        .executeTakeFirst()
      if (!found) return undefined
      const message = await this.find(owner, found.email_id)
      const recipient = await this.findRecipient(owner.organizationId, id)
      return message && recipient && { message, recipient }
    },

    uncapture: async (organizationId: string, id: string) => {
      await db
        .updateTable("email.recipients")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .set({ captured_at: null })
        .execute()
    },

    /**
     * Counts recipients toward the month's quota. With a limit, gives what the month has come to, and other
     * transactions of the organization wait until this one ends.
     */
    async countSends(
      organizationId: string,
      at: Date,
      recipients: number,
      isLimited: boolean,
    ): Promise<number> {
      const month = `${at.toISOString().slice(0, 7)}-01`
      const shard = isLimited ? 0 : 1 + Math.floor(Math.random() * SHARDS)
      const { recipients: counted } = await db
        .insertInto("email.sends")
        .values({ organization_id: organizationId, month, shard, recipients })
        .onConflict(conflict =>
          conflict.columns(["organization_id", "month", "shard"]).doUpdateSet(({ eb, ref }) => ({
            recipients: eb("email.sends.recipients", "+", ref("excluded.recipients")),
          })),
        )
        .returning("recipients")
        .executeTakeFirstOrThrow()
      return counted
    },
  }
}
