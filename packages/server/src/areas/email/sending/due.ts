import type { AtRest } from "../../../core/secrets/at-rest.ts"
import { createBatcher } from "../../../kernel/batcher.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { EmailDelivery, SendingSettings, Signer } from "../delivery.ts"
import { decryptAttachments, decryptMail } from "./at-rest.ts"
import { readAttachments, readMessages, readRecipients } from "./due-store.ts"
import type { AttachmentRow, MessageRow, RecipientRow } from "./store.ts"

/** The mail of one recipient, and how it is to be sent. */
export interface Due {
  readonly message: MessageRow
  readonly recipient: RecipientRow
  readonly attachments: readonly AttachmentRow[]
  readonly settings: SendingSettings
  /** Undefined where nobody signs. */
  readonly signer: Signer | undefined
}

interface DueKey {
  readonly organizationId: string
  readonly recipientId: string
  readonly emailId: string
}

/** Each may hold as much as attachments may. */
const READ_MAX = 10
const READS_MAX = 2

/** Asks once for each key. */
const onceEach = <Result>(ask: (key: string) => Promise<Result>): ((key: string) => Promise<Result>) => {
  const asked = new Map<string, Promise<Result>>()
  return key => {
    const answer = asked.get(key) ?? ask(key)
    asked.set(key, answer)
    return answer
  }
}

/** Reads mails that fall due together in a few queries. Undefined for one that is not to be sent any more. */
export const createDueReader = (needs: {
  readonly database: { readonly db: Db }
  readonly delivery: EmailDelivery
  readonly atRest: AtRest
}): ((key: DueKey) => Promise<Due | undefined>) => {
  const { delivery, atRest } = needs
  const { db } = needs.database

  const readRows = async (keys: readonly DueKey[]) => {
    const messageKeys = keys.map(({ organizationId, emailId }) => ({
      ...{ organization_id: organizationId, id: emailId },
    }))
    const recipientKeys = keys.map(({ organizationId, recipientId }) => ({
      ...{ organization_id: organizationId, id: recipientId },
    }))
    const [recipients, messages, attachments] = await Promise.all([
      readRecipients(db, recipientKeys),
      readMessages(db, messageKeys),
      readAttachments(db, messageKeys),
    ])
    return {
      recipients: new Map(recipients.map(row => [row.id, row])),
      messages: new Map(messages.map(row => [row.id, row])),
      attachments: Map.groupBy(attachments, row => row.email_id),
    }
  }

  const perform = async (keys: readonly DueKey[]) => {
    const { recipients, messages, attachments } = await readRows(keys)
    const settingsOf = onceEach(organizationId => delivery.settingsOf(organizationId))
    const signerOf = onceEach(key => {
      const [organizationId = "", domain = ""] = key.split(" ")
      return delivery.findSigner(organizationId, domain)
    })

    const dueOf = async ({ organizationId, recipientId, emailId }: DueKey): Promise<Due | undefined> => {
      const recipient = recipients.get(recipientId)
      const message = messages.get(emailId)
      if (!message || (recipient?.status !== "queued" && recipient?.status !== "delayed")) return undefined
      const settings = await settingsOf(organizationId)
      const signs = settings.ownDomainDeliveryEnabled
      const signer = signs ? await signerOf(`${organizationId} ${message.domain}`) : undefined
      return {
        ...{ recipient, settings, signer },
        message: await decryptMail(atRest, message),
        attachments: await decryptAttachments(atRest, attachments.get(emailId) ?? []),
      }
    }
    // What one organization lacks, such as a key, is nothing to the others.
    return Promise.allSettled(keys.map(dueOf))
  }

  return createBatcher({ itemsMax: READ_MAX, atOnceMax: READS_MAX, perform })
}
