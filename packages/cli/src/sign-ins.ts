/** What `svc login` keeps after a sign-in: tokens, which are renewed before they end. */
import { OAUTH_CLI_CLIENT_ID, OAUTH_REFRESH_GRANT } from "@svc/contract"
import { createSvc, SvcError } from "@svc/sdk"
import type { Keychain } from "./keychains.ts"
import { UsageError } from "./terminal.ts"

/** Marks it among keys, which begin otherwise. Keychains take no quotes, so the rest is base64url. */
const MARK = "svc-sign-in:"
/** A command that has begun should not end for want of a token. */
const EARLY_MS = 300_000

export interface SignIn {
  readonly access_token: string
  readonly refresh_token: string | undefined
  /** Milliseconds since 1970. */
  readonly ends_at: number
}

export const writeSignIn = (signIn: SignIn): string =>
  MARK + Buffer.from(JSON.stringify(signIn)).toString("base64url")

/** Undefined for a key. */
export const readSignIn = (kept: string): SignIn | undefined => {
  if (!kept.startsWith(MARK)) return undefined
  try {
    return JSON.parse(Buffer.from(kept.slice(MARK.length), "base64url").toString())
  } catch {
    throw new UsageError("what svc login kept is damaged: run svc login again")
  }
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string
  readonly expires_in: number
}

export const toSignIn = ({ access_token, refresh_token, expires_in }: Tokens): SignIn => ({
  access_token,
  refresh_token,
  ends_at: Date.now() + Number(expires_in) * 1000,
})

const ENDED = "the sign-in has ended: run svc login"

const renew = async (url: string, refresh_token: string): Promise<SignIn> => {
  try {
    return toSignIn(
      await createSvc({ baseUrl: url }).oauth.token({
        grant_type: OAUTH_REFRESH_GRANT,
        client_id: OAUTH_CLI_CLIENT_ID,
        refresh_token,
      }),
    )
  } catch (error) {
    if (error instanceof SvcError && error.code === "oauth_invalid_grant") throw new UsageError(ENDED)
    throw error
  }
}

/** The key that was kept, or the access token of a sign-in, renewed where it ends soon. */
export const keyOf = async (url: string, kept: string, keychain: Keychain): Promise<string> => {
  const signIn = readSignIn(kept)
  if (!signIn) return kept
  if (signIn.ends_at - Date.now() > EARLY_MS) return signIn.access_token
  if (signIn.refresh_token === undefined) {
    if (signIn.ends_at > Date.now()) return signIn.access_token
    throw new UsageError(ENDED)
  }
  const renewed = await renew(url, signIn.refresh_token)
  await keychain.save(url, writeSignIn(renewed))
  return renewed.access_token
}

/** Ends the connection at the platform; a platform that cannot be asked keeps it until its end. */
export const endSignIn = async (url: string, kept: string): Promise<void> => {
  const signIn = readSignIn(kept)
  if (!signIn) return
  const token = signIn.refresh_token ?? signIn.access_token
  await createSvc({ baseUrl: url, retries: 0 })
    .oauth.revoke({ client_id: OAUTH_CLI_CLIENT_ID, token })
    .catch(() => undefined)
}
