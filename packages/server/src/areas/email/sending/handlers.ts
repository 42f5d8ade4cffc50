import { type areas, page, pageOf } from "@svc/contract"
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import type { Accept, NewMail } from "./accept.ts"
import { decryptMail } from "./at-rest.ts"
import { toAccepted, toMessage } from "./payloads.ts"
import type { Reading, Sender } from "./reading.ts"
import { messageStore } from "./store.ts"

type Operations = Pick<
  typeof areas.email.specs,
  "sendTransactional" | "sendRaw" | "listMessages" | "getMessage" | "cancelMessage"
>

const senderOf = ({ organization, project, now }: Call): Sender => ({
  ...{ organization, projectId: project?.id ?? null, now },
})

export interface SendingNeeds {
  readonly accept: Accept
  readonly reading: Reading
  readonly atRest: AtRest
}

const sendHandlers = ({
  accept,
  reading,
}: Omit<SendingNeeds, "atRest">): Pick<Handlers<Operations>, "sendTransactional" | "sendRaw"> => {
  const send = async (mail: NewMail, call: Call) => {
    const accepted = await accept(call.db, mail, call.now)
    const { message, sends } = accepted
    call.describe({
      targets: [{ type: "email", id: message.id }],
      metadata: { recipients: accepted.recipients.length },
    })
    if (sends > 0) call.meter("email_sends", sends)
    return toAccepted(accepted)
  }

  return {
    sendTransactional: async (input, call) =>
      send(await reading.transactional(call.db, input, senderOf(call)), call),
    sendRaw: async (input, call) => send(await reading.raw(input, senderOf(call)), call),
  }
}

export const sendingHandlers = (needs: SendingNeeds): Handlers<Operations> => {
  const requireMessage = (call: Call, id: string) =>
    requireRow(messageStore(call.db).find(call.tenant, id), "resource_not_found", { id })

  return {
    ...sendHandlers(needs),

    async listMessages(input, call) {
      const store = messageStore(call.db)
      const { recipient, template } = input
      const { rows, total } = await store.list(call.tenant, { ...pageOf(input), recipient, template })
      const recipients = Map.groupBy(
        await store.recipientsOf(
          call.organization.id,
          rows.map(({ id }) => id),
        ),
        ({ email_id }) => email_id,
      )
      const data = rows.map(row => toMessage(row, recipients.get(row.id) ?? [], call.now))
      return page({ rows: data, total }, input)
    },

    async getMessage({ id }, call) {
      const message = await decryptMail(needs.atRest, await requireMessage(call, id))
      const recipients = await messageStore(call.db).recipientsOf(call.organization.id, [id])
      return { ...toMessage(message, recipients, call.now), html: message.html, text: message.text }
    },

    async cancelMessage({ id }, call) {
      const message = await requireMessage(call, id)
      const store = messageStore(call.db)
      const cancelled = await store.cancel(call.organization.id, id, call.now)
      const recipients = await store.recipientsOf(call.organization.id, [id])
      const isCancelled = cancelled > 0 || recipients.some(({ status }) => status === "cancelled")
      const after = toMessage(message, recipients, call.now)
      if (!isCancelled) throw fault("invalid_state_transition", { state: after.status })
      call.describe({ targets: [{ type: "email", id }] })
      return after
    },
  }
}
