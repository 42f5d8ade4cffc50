/** Data of messages as they are stored: encrypted with the tenant's key where the operator asks for it. */

import type { AtRest } from "../../core/secrets/at-rest.ts"
import { NotDecryptable } from "../../core/secrets/secret-box.ts"
import { isFault } from "../../kernel/fault.ts"
import type { NewMessage } from "./deliveries.ts"
import { type Message, messageIdOf } from "./envelope.ts"

const contextOf = (id: string): string => `message:${id}`

/** A message and its data as the database gets it. */
export interface Stored<M extends Omit<NewMessage, "recipients"> = NewMessage> {
  readonly message: M
  readonly data: string
}

/** Skips messages of erased tenants, which must not be read. */
export const encrypted = async <M extends Omit<NewMessage, "recipients">>(
  atRest: AtRest,
  messages: readonly M[],
): Promise<readonly Stored<M>[]> => {
  if (!atRest.encrypts) return messages.map(message => ({ message, data: message.data }))
  const all = await Promise.all(
    messages.map(async message => {
      try {
        const context = contextOf(messageIdOf(message.id))
        return { message, data: await atRest.write(message.tenantId, context, message.data) }
      } catch (error) {
        if (isFault(error) && error.code === "organization_not_found") return []
        throw error
      }
    }),
  )
  return all.flat()
}

/** Undefined for one of a tenant that was erased. */
export const decrypted = async (atRest: AtRest, message: Message): Promise<Message | undefined> => {
  try {
    const data = await atRest.read(message.tenantId, contextOf(message.id), message.data)
    return data === message.data ? message : { ...message, data }
  } catch (error) {
    if (error instanceof NotDecryptable) return undefined
    throw error
  }
}
