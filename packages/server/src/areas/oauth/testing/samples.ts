/** Valid inputs of the OAuth routes, for the tests that hold for every operation. */
import { OAUTH_CLI_CLIENT_ID } from "@svc/contract"
import * as oauth from "oauth4webapi"
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"
import { openRequest } from "./browser.ts"
import { postForm } from "./programs.ts"

const REDIRECT_URI = "http://127.0.0.1/callback"
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

/** Asked for by the command line, and not decided. */
export const newAuthorization = async ({ platform }: SampleWorld): Promise<{ id: string }> => {
  const url = new URL(`${platform.url}/v1/oauth/authorize`)
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: OAUTH_CLI_CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    scope: "kv:read",
    code_challenge: await oauth.calculatePKCECodeChallenge(VERIFIER),
    code_challenge_method: "S256",
  }).toString()
  return { id: (await openRequest(url)).split("/").at(-1) ?? "" }
}

export const newConsent = async (world: SampleWorld) => ({
  ...(await newAuthorization(world)),
  action: "approve" as const,
  project_id: (await world.platform.tenant(world.tenant)).projectId,
})

/** What the code of an approved authorization is exchanged by. */
export const newCodeForm = async (world: SampleWorld) => {
  const { redirect_url } = await world.person.oauth.consent(await newConsent(world))
  return {
    grant_type: "authorization_code",
    client_id: OAUTH_CLI_CLIENT_ID,
    code: new URL(redirect_url ?? "").searchParams.get("code") ?? "",
    code_verifier: VERIFIER,
  }
}

const newConnection = async (world: SampleWorld) => {
  await postForm(world.platform, "/v1/oauth/token", await newCodeForm(world))
  return { name: (await world.person.connectedApps.list({ limit: 1 })).data[0]?.name ?? "" }
}

export const samples = {
  "connectedApps.disconnect": newConnection,
} satisfies Readonly<Record<string, Sample>>

const NOBODYS =
  "what a client asks for belongs to nobody before it is decided; connecting.test.ts and attacks.test.ts have it"
const PUBLIC = "public: there is no caller yet to remember an Idempotency-Key for"

export const unsampled = {
  "oauth.getAuthorization": NOBODYS,
  "oauth.consent": NOBODYS,
  "oauth.register": PUBLIC,
  "oauth.authorize": PUBLIC,
  "oauth.deviceAuthorization": PUBLIC,
  "oauth.token": PUBLIC,
  "oauth.revoke": PUBLIC,
} satisfies Unsampled
