/** Valid inputs of the sending side's operations, for the tests that hold for every operation. */
import { eventually } from "../../../testing/eventually.ts"
import { uniqueName } from "../../../testing/platform.ts"
import type { SampleWorld } from "../../../testing/sample-world.ts"

const template = () => ({ name: uniqueName(), subject: "Hi {{ name }}", html: "<p>Hi {{ name }}</p>" })

const newTemplate = async ({ key }: SampleWorld) => (await key.email.createTemplate(template())).id

const mail = { to: "ada@example.com", subject: "Hello", text: "Hello" }

const newMessage = async ({ key }: SampleWorld) => ({ id: (await key.email.sendRaw(mail)).id })

const scheduledMessage = async ({ key, platform }: SampleWorld) => {
  const scheduled_at = new Date(platform.clock.now() + 3_600_000).toISOString()
  return { id: (await key.email.sendRaw({ ...mail, scheduled_at })).id }
}

const capturedMail = async ({ key }: SampleWorld) => {
  const { id } = await key.email.sendRaw(mail)
  const found = await eventually("it comes about", async () => {
    const { data } = await key.email.listInbox({})
    return data.find(({ email_id }) => email_id === id)
  })
  return { id: found.id }
}

export const emailSendingSamples = {
  "email.sendTransactional": async (world: SampleWorld) => ({
    template: await newTemplate(world),
    to: "ada@example.com",
    data: { name: "Ada" },
  }),
  "email.sendRaw": async () => mail,
  "email.createTemplate": async () => template(),
  "email.getTemplate": async (world: SampleWorld) => ({ id: await newTemplate(world) }),
  "email.updateTemplate": async (world: SampleWorld) => ({ id: await newTemplate(world), ...template() }),
  "email.deleteTemplate": async (world: SampleWorld) => ({ id: await newTemplate(world) }),
  "email.previewTemplate": async (world: SampleWorld) => ({ id: await newTemplate(world) }),
  "email.getMessage": newMessage,
  "email.cancelMessage": scheduledMessage,
  "email.getInbox": capturedMail,
  "email.deleteInbox": capturedMail,
}
