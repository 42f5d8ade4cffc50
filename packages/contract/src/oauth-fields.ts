/** What the OAuth routes share, and clients of ours with them. */
import { T } from "./dsl.ts"
import { dataPlaneScopes } from "./scopes.ts"

export const OAUTH_CODE_GRANT = "authorization_code"
export const OAUTH_REFRESH_GRANT = "refresh_token"
export const OAUTH_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
export const OAUTH_GRANTS = [OAUTH_CODE_GRANT, OAUTH_REFRESH_GRANT, OAUTH_DEVICE_GRANT] as const

/** A connection with this scope goes on after its access token has ended: it comes with a refresh token. */
export const OAUTH_OFFLINE_SCOPE = "offline_access"
/** What a connected app may ask for. Platform scopes are for keys that people make. */
export const OAUTH_SCOPES: readonly string[] = [...dataPlaneScopes, OAUTH_OFFLINE_SCOPE]

/** How a client proves that it is one. */
export const OAUTH_CLIENT_METHODS = ["none", "client_secret_basic", "client_secret_post"] as const

/** The command line, which is known to every installation. */
export const OAUTH_CLI_CLIENT_ID = "svc-cli"

export const OAUTH_ACCESS_SECONDS = 28_800
export const OAUTH_REFRESH_DAYS = 90
export const OAUTH_CODE_SECONDS = 60
/** How long a person has to decide. */
export const OAUTH_DECISION_SECONDS = 600
export const OAUTH_DEVICE_INTERVAL_SECONDS = 5
export const OAUTH_REDIRECT_URIS_MAX = 10

const URL_LENGTH_MAX = 2000
export const OAUTH_SCOPE_LENGTH_MAX = 2000

export const OAuthUrl = (description: string) =>
  T.String({ minLength: 1, maxLength: URL_LENGTH_MAX, description })
export const OAuthScope = (description: string) =>
  T.String({ maxLength: OAUTH_SCOPE_LENGTH_MAX, description })

export const ClientId = T.String({
  minLength: 1,
  maxLength: URL_LENGTH_MAX,
  description: "Id that the client got when it registered, or the https URL of its metadata document",
})

/** Parameters that it does not know are ignored, as OAuth has it. */
export const open = { additionalProperties: true } as const
