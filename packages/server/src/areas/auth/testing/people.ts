/** Users of a tenant's application, for tests. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import type { Scope } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { PASSWORD, type TestPlatform } from "../../../testing/platform.ts"

export const ADMIN: readonly Scope[] = ["admin:full"]

export const newAddress = (): string => `${randomUUID()}@example.com`

/** A browser with the publishable key of the tenant. */
export const browserOf = async (p: TestPlatform, tenant: string): Promise<Svc> =>
  p.as((await p.tenant(tenant)).publishableKey)

export interface Person {
  readonly email: string
  readonly id: string
  readonly access_token: string
  readonly refresh_token: string
  /** Calls with the access token. */
  readonly own: Svc
}

type Reply = Awaited<ReturnType<Svc["auth"]["login"]>>

/** The tokens of a complete sign-in. */
export const tokensOf = (reply: object) => {
  assert.ok("access_token" in reply, "the sign-in is not complete")
  return reply as Extract<Reply, { mfa_required: false }>
}

/** What a sign-in that waits for its second factor says. */
export const waitingOf = (reply: object) => {
  assert.ok("mfa_token" in reply, "the sign-in does not wait")
  return reply as Extract<Reply, { mfa_required: true }>
}

export const personOf = (p: TestPlatform, reply: object): Person => {
  const { access_token, refresh_token, user } = tokensOf(reply)
  return { email: user.email ?? "", id: user.id, access_token, refresh_token, own: p.as(access_token) }
}

/** A user who signed up; of an application that does not confirm addresses. */
export const signUp = async (p: TestPlatform, tenant: string, email = newAddress()): Promise<Person> =>
  personOf(p, await (await browserOf(p, tenant)).auth.signup({ email, password: PASSWORD }))

export const refusal = async (calling: Promise<unknown>): Promise<string> =>
  calling.then(
    () => "none",
    (error: { code: string }) => error.code,
  )

/** What the last mail to an address says, once it is there. */
export const lastMail = async (p: TestPlatform, tenant: string, to: string, count = 1) => {
  const key = await p.client(tenant, "email:read")
  const mails = await eventually(`${count} mails to ${to}`, async () => {
    const { data } = await key.email.listMessages({ recipient: to })
    return data.length >= count ? data : undefined
  })
  const [last] = mails
  assert.ok(last)
  const { text } = await key.email.getMessage({ id: last.id })
  assert.ok(text)
  return {
    subject: last.subject,
    text,
    token: /svc_umt_[\w-]{43}/.exec(text)?.[0] ?? "",
    code: /^ {4}(\d{6})$/m.exec(text)?.[1] ?? "",
  }
}
