import { areas } from "@svc/contract"
import type { AreaState } from "../../kernel/area.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import type { Needs } from "./needs.ts"
import { projectMail } from "./offers.ts"
import { openDelivery } from "./open-delivery.ts"
import { openSending } from "./sending/open-sending.ts"

const handlers = implement(
  areas.email,
  (sides: {
    readonly sending: ReturnType<typeof openSending>
    readonly delivery: Awaited<ReturnType<typeof openDelivery>>
  }) => ({ ...sides.sending.handlers, ...sides.delivery.handlers }),
)

export const start = async (services: Needs) => {
  const delivery = await openDelivery(services)
  const sending = openSending({ ...services, delivery: delivery.delivery })
  const { by } = services.mails.provider.capabilities
  return {
    operations: handlers({ sending, delivery }),
    provides: [provide(projectMail, sending.projectMail)],
    // The mailbox is no lack on a laptop, and no failure anywhere: it says where mails are.
    state: (): AreaState => ({
      status: "available",
      capabilities: { mails_go_to: by, reports_port: delivery.reportsPort },
    }),
    async [Symbol.asyncDispose]() {
      await sending[Symbol.asyncDispose]()
      await delivery[Symbol.asyncDispose]()
    },
  }
}
