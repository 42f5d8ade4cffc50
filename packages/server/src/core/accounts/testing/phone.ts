/** People with an authenticator. */
import assert from "node:assert/strict"
import { PASSWORD, type TestPlatform } from "../../../testing/platform.ts"
import { type Phone, phoneOf } from "../../credentials/testing/phone.ts"
import { type Person, signedIn, signUp, stranger } from "./people.ts"

export interface PersonWithPhone extends Person {
  readonly phone: Phone
  readonly factorId: string
  readonly secret: string
  readonly recoveryCodes: readonly string[]
}

export const withPhone = async (p: TestPlatform): Promise<PersonWithPhone> => {
  const person = await signUp(p)
  const { factor_id, totp } = await person.svc.account.enrollFactor({ friendly_name: "phone" })
  const phone = phoneOf(p, totp.secret)
  const verified = await person.svc.account.verifyFactor({ factor_id, code: await phone.code() })
  assert.equal(verified.recovery_codes?.length, 10)
  return {
    ...person,
    phone,
    factorId: factor_id,
    secret: totp.secret,
    recoveryCodes: verified.recovery_codes ?? [],
  }
}

/** The token of a sign-in that waits for the second factor. */
export const beginSignIn = async (
  p: TestPlatform,
  { email }: Pick<Person, "email">,
  password: string = PASSWORD,
): Promise<string> => {
  const { data, headers } = await stranger(p).request("account.login", { email, password })
  assert.equal(headers.get("set-cookie"), null)
  assert.ok(data.mfa_required, "no second factor is asked for")
  return data.mfa_token
}

export const completeSignIn = async (p: TestPlatform, mfa_token: string, code: string) => {
  const { headers } = await stranger(p).request("account.challenge", { mfa_token, code })
  return signedIn(p, headers)
}
