/** What is particular to providers, as data and pure functions. */

export interface Preset {
  readonly issuer: string | undefined
  readonly scopes: readonly string[]
  /** GitHub has no OpenID: who signed in is asked for by its API. */
  readonly kind: "openid" | "github"
  /** Sent along with the authorization request. */
  readonly parameters: Readonly<Record<string, string>>
}

const openid = { kind: "openid", parameters: {} } as const

const presets: Readonly<Record<string, Preset>> = {
  google: { ...openid, issuer: "https://accounts.google.com", scopes: ["openid", "email", "profile"] },
  microsoft: {
    ...openid,
    issuer: "https://login.microsoftonline.com/common/v2.0",
    scopes: ["openid", "email", "profile"],
  },
  // Apple sends an address only where the answer comes as a form.
  apple: {
    ...openid,
    issuer: "https://appleid.apple.com",
    scopes: ["openid", "email"],
    parameters: { response_mode: "form_post" },
  },
  github: {
    kind: "github",
    parameters: {},
    issuer: "https://github.com",
    scopes: ["read:user", "user:email"],
  },
}

const other: Preset = { ...openid, issuer: undefined, scopes: ["openid", "email", "profile"] }

export const presetOf = (name: string): Preset =>
  Object.hasOwn(presets, name) ? (presets[name] ?? other) : other

/** Who somebody is at a provider. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
}

type Claims = Readonly<Record<string, unknown>>

const textOf = (value: unknown, lengthMax: number): string | null =>
  typeof value === "string" && value.length > 0 && value.length <= lengthMax ? value : null

const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u

export const emailOf = (value: unknown): string | null => {
  const email = textOf(value, 254)
  return email !== null && EMAIL.test(email) ? email : null
}

/**
 * Whether the provider vouches for the address. Any administrator of a Microsoft tenant gives users whatever address they
 * like; only `xms_edov` says that the domain is the tenant's own.
 */
const isVerified = (provider: string, claims: Claims): boolean => {
  const claim = provider === "microsoft" ? claims.xms_edov : claims.email_verified
  return claim === true || claim === "true" || (provider === "microsoft" && (claim === 1 || claim === "1"))
}

export const identityOf = (provider: string, claims: Claims): Identity | undefined => {
  const issuer = textOf(claims.iss, 2048)
  const subject = textOf(claims.sub, 255)
  if (issuer === null || subject === null) return undefined
  const email = emailOf(claims.email)
  return {
    issuer,
    subject,
    email,
    emailVerified: email !== null && isVerified(provider, claims),
    name: textOf(claims.name, 256),
  }
}

/** Addresses of a GitHub server: github.com has its API elsewhere than servers of one's own. */
export const githubAddresses = (server: string) => {
  const root = server.replace(/\/+$/, "")
  const api = root === "https://github.com" ? "https://api.github.com" : `${root}/api/v3`
  return {
    metadata: {
      issuer: `${root}/login/oauth`,
      authorization_endpoint: `${root}/login/oauth/authorize`,
      token_endpoint: `${root}/login/oauth/access_token`,
    },
    user: `${api}/user`,
    emails: `${api}/user/emails`,
  }
}

/** Of the addresses that GitHub lists, the primary one. */
export const githubIdentity = (issuer: string, user: unknown, emails: unknown): Identity | undefined => {
  const { id, login, name } = (user ?? {}) as { id?: unknown; login?: unknown; name?: unknown }
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return undefined
  const listed = Array.isArray(emails) ? emails : []
  const primary = listed.find(entry => (entry as { primary?: unknown } | null)?.primary === true)
  const { email, verified } = (primary ?? {}) as { email?: unknown; verified?: unknown }
  const address = emailOf(email)
  return {
    issuer,
    subject: String(id),
    email: address,
    emailVerified: address !== null && verified === true,
    name: textOf(name, 256) ?? textOf(login, 256),
  }
}
