import type { MailPort } from "../port.ts"

/** Mails stay where they were accepted, for people to read there. */
export const createCaptureMail = (): MailPort => ({
  capabilities: { by: "mailbox", timeoutMs: 0 },
  send: async () => ({ kind: "accepted", reply: null }),
  [Symbol.asyncDispose]: async () => undefined,
})
