/** Valid inputs of the operations of end-user auth, for the tests that hold for every operation. */
import { randomUUID } from "node:crypto"
import { PASSWORD } from "../../../testing/platform.ts"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"

const newAddress = () => `${randomUUID()}@example.com`

const newUser = async ({ key }: SampleWorld) => {
  const email = newAddress()
  const { id } = await key.auth.createUser({ email, password: PASSWORD, email_confirmed: true })
  return { id, email }
}

/** Of a project whose users need not confirm their addresses. */
const newSession = async ({ key }: SampleWorld) => {
  const signedUp = await key.auth.signup({ email: newAddress(), password: PASSWORD })
  return { refresh_token: "refresh_token" in signedUp ? signedUp.refresh_token : "" }
}

const toAddress = async () => ({ email: newAddress() })
const ofUser = async (world: SampleWorld) => ({ id: (await newUser(world)).id })

const PAGE = "https://app.example.com/welcome"
/** What several samples need of the settings, which each of them sets whole. */
const OPEN = { anonymous: true, redirect_urls: [PAGE] }

/** GitHub is not asked for anything before a person comes back. */
export const startAtGithub = async ({ key }: SampleWorld) => {
  await key.auth.putSettings(OPEN)
  await key.auth.putProvider({ provider: "github", client_id: "shop" })
  return {
    provider: "github",
    redirect_to: PAGE,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  }
}

export const samples = {
  "auth.signup": async () => ({ email: newAddress(), password: PASSWORD }),
  "auth.anonymous": async ({ key }) => {
    await key.auth.putSettings(OPEN)
    return { data: { cart: "7K2MQ" } }
  },
  "auth.login": async world => ({ email: (await newUser(world)).email, password: PASSWORD }),
  "auth.refresh": newSession,
  "auth.resetPassword": toAddress,
  "auth.magicLink": toAddress,
  "auth.otp": toAddress,
  "auth.resend": async () => ({ type: "signup", email: newAddress() }),
  "auth.deleteProvider": async ({ key }) => {
    await key.auth.putProvider({ provider: "microsoft", client_id: "shop" })
    return { provider: "microsoft" }
  },
  "auth.startProvider": startAtGithub,
  "auth.putSettings": async () => ({ ...OPEN, name: "Shop" }),
  "auth.createUser": async () => ({ email: newAddress(), password: PASSWORD }),
  "auth.importUsers": async () => ({ users: [{ email: newAddress(), email_confirmed: true }] }),
  "auth.showUser": ofUser,
  "auth.manageUser": async world => ({ ...(await ofUser(world)), app_metadata: { plan: "gold" } }),
  "auth.deleteUser": ofUser,
  "auth.invite": toAddress,
} satisfies Readonly<Record<string, Sample>>

const MAILED = "takes what a mail of the platform carries; areas/auth/mails.test.ts has it"
const END_USER = "takes the token of an application's user; areas/auth/auth.test.ts and mfa.test.ts have it"
const WAITING = "takes a sign-in that waits for a second factor; areas/auth/mfa.test.ts has it"

const PROVIDER = "takes what an outside provider answered; areas/auth/providers.test.ts has it"

export const unsampled = {
  "auth.confirmReset": MAILED,
  "auth.verify": MAILED,
  "auth.rotateKeys":
    "is refused until the next key was published for a while; areas/auth/keys.test.ts has it",
  "auth.logout": END_USER,
  "auth.linkAddress": END_USER,
  "auth.startLink": END_USER,
  "auth.unlinkIdentity": END_USER,
  "auth.putProvider": "each project has providers of every name; areas/auth/providers.test.ts has it",
  "auth.exchange": PROVIDER,
  "auth.providerCallback": PROVIDER,
  "auth.providerFormCallback": PROVIDER,
  "auth.updateUser": END_USER,
  "auth.revokeSession": END_USER,
  "auth.enroll": END_USER,
  "auth.verifyFactor": END_USER,
  "auth.deleteFactor": END_USER,
  "auth.createRecoveryCodes": END_USER,
  "auth.challenge": WAITING,
  "auth.useRecoveryCode": WAITING,
} satisfies Unsampled
