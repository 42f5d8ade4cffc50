/** People who sign themselves up, for tests that tell one from another. */
import assert from "node:assert/strict"
import { createSvc, type Svc, SvcError } from "@svc/sdk"
import { PASSWORD, type TestPlatform } from "../../../testing/platform.ts"
import { watchedFetch } from "../../../testing/watch.ts"

export interface Person {
  readonly id: string
  readonly email: string
  /** The organization that came with the sign-up. */
  readonly organizationId: string
  readonly svc: Svc
  /** The whole `Set-Cookie` value. */
  readonly setCookie: string
  /** A client of the same session that names an organization or a project. */
  with(headers: Readonly<Record<string, string>>): Svc
}

let people = 0
export const newEmail = (): string => `person-${++people}@example.com`

/** A client without credentials. */
export const stranger = (p: TestPlatform): Svc =>
  createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0 })

export const signedIn = (p: TestPlatform, headers: Headers) => {
  const setCookie = headers.get("set-cookie") ?? ""
  const session = { cookie: setCookie.split(";")[0] ?? "", origin: p.url }
  const client = (more: Readonly<Record<string, string>>) =>
    createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers: { ...session, ...more } })
  return { setCookie, with: client, svc: client({}) }
}

export const signUp = async (p: TestPlatform, email: string = newEmail()): Promise<Person> => {
  const { data, headers } = await stranger(p).request("account.signup", { email, password: PASSWORD })
  assert.ok("user" in data, "sign-ups are confirmed by mail here")
  const session = signedIn(p, headers)
  const organizations = await session.svc.organizations.list()
  return { ...session, id: data.user.id, email, organizationId: organizations.data[0]?.id ?? "" }
}

export const signIn = async (p: TestPlatform, email: string, password: string = PASSWORD) => {
  const { headers } = await stranger(p).request("account.login", { email, password })
  return signedIn(p, headers)
}

/** Refuses with this code, and gives the error. */
export const refused = async (call: Promise<unknown>, code: string): Promise<SvcError> => {
  const error = await call.then(
    () => assert.fail(`it was let through, not refused with ${code}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof SvcError, String(error))
  assert.equal(error.code, code, error.message)
  return error
}
