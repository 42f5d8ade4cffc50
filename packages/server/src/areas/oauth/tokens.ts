/** The token endpoint and what describes or ends a token. */
import { createHash, timingSafeEqual } from "node:crypto"
import {
  type areas,
  type Input,
  OAUTH_CODE_GRANT,
  OAUTH_DECISION_SECONDS,
  OAUTH_DEVICE_GRANT,
  OAUTH_DEVICE_INTERVAL_SECONDS,
  OAUTH_GRANTS,
  type Output,
} from "@svc/contract"
import { tokenHash } from "../../core/accounts/token.ts"
import { isWellFormed, secretHash } from "../../core/keys/secret.ts"
import { keyStore } from "../../core/keys/store.ts"
import type { NumberedTokens } from "../../core/secrets/numbered-tokens.ts"
import type { AccountCall } from "../../kernel/call.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { scopeWords } from "./clients.ts"
import { judgePoll, newDevice, shownCode } from "./devices.ts"
import type { Directory } from "./directory.ts"
import type { Grants, Issued } from "./grants.ts"
import { isOwnResource } from "./metadata.ts"
import {
  type AuthorizationRow,
  authorizationStore,
  type ClientRow,
  type GrantRow,
  grantStore,
} from "./store.ts"

type Specs = typeof areas.oauth.specs
type TokenInput = Input<Specs["token"]>
type Described = Output<Specs["introspect"]>

export interface TokenNeeds {
  readonly baseUrl: string
  readonly database: Database
  readonly directory: Directory
  readonly grants: Grants
  readonly refreshTokens: NumberedTokens
}

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

const isVerified = (verifier: string | undefined, challenge: string | null): boolean => {
  if (verifier === undefined || challenge === null || !VERIFIER.test(verifier)) return false
  const made = createHash("sha256").update(verifier).digest("base64url")
  return made.length === challenge.length && timingSafeEqual(Buffer.from(made), Buffer.from(challenge))
}

const missing = (field: string) => fault("oauth_invalid_request", { reason: `${field} is required` })

const checkCode = (row: AuthorizationRow, input: TokenInput, now: Date) => {
  if (row.status !== "approved" || row.expires_at <= now) throw fault("oauth_invalid_grant")
  if (input.redirect_uri !== undefined && input.redirect_uri !== row.redirect_uri)
    throw fault("oauth_invalid_grant")
  if (!isVerified(input.code_verifier, row.code_challenge)) throw fault("oauth_invalid_grant")
}

export const tokenHandlers = (needs: TokenNeeds) => {
  const { baseUrl, database, directory, grants, refreshTokens } = needs

  /** Undefined where the code was used before: what it gave has ended then. */
  const redeemCode = async (input: TokenInput, client: ClientRow, now: Date): Promise<Issued | undefined> => {
    const { code } = input
    if (code === undefined) throw missing("code")
    return database.transaction(async tx => {
      const row = await authorizationStore(tx).lockBySecret(tokenHash(code))
      if (row?.flow !== "code" || row.client_id !== client.id) return undefined
      if (row.status === "redeemed") {
        const grant = row.grant_id === null ? undefined : await grantStore(tx).lock(row.grant_id)
        if (grant) await grants.end(tx, grant, now)
        return undefined
      }
      checkCode(row, input, now)
      return grants.begin(tx, row, client, now)
    })
  }

  /** The tokens, or the code of the refusal: how a device asks is noted though it is refused. */
  const redeemDevice = async (input: TokenInput, client: ClientRow, now: Date): Promise<Issued> => {
    const { device_code } = input
    if (device_code === undefined) throw missing("device_code")
    const answer = await database.transaction(async tx => {
      const row = await authorizationStore(tx).lockBySecret(tokenHash(device_code))
      if (row?.flow !== "device" || row.client_id !== client.id) return "oauth_invalid_grant"
      const poll = judgePoll(row, now)
      if (poll.kind === "waits") await authorizationStore(tx).update(row.id, poll.change)
      return poll.kind === "approved" ? grants.begin(tx, row, client, now) : poll.code
    })
    if (typeof answer === "string") throw fault(answer)
    return answer
  }

  const refresh = async (input: TokenInput, client: ClientRow, now: Date): Promise<Issued | undefined> => {
    const { refresh_token, scope } = input
    if (refresh_token === undefined) throw missing("refresh_token")
    const narrowed = scope === undefined ? undefined : scopeWords(scope)
    return database.transaction(tx => grants.refresh(tx, client, refresh_token, { narrowed, now }))
  }

  const exchange = (input: TokenInput, client: ClientRow, now: Date) => {
    if (input.grant_type === OAUTH_CODE_GRANT) return redeemCode(input, client, now)
    return input.grant_type === OAUTH_DEVICE_GRANT
      ? redeemDevice(input, client, now)
      : refresh(input, client, now)
  }

  /** The connection and the end of a token of this client; undefined for whatever is none. */
  const find = async (db: Db, client: ClientRow, token: string, now: Date) => {
    const found = await findAny(db, token)
    if (!found || found.grant.client_id !== client.id || found.grant.revoked_at !== null) return undefined
    return found.expires_at > now ? found : undefined
  }

  const findAny = async (db: Db, token: string) => {
    const read = refreshTokens.read(token)
    if (read) {
      const grant = await grantStore(db).find(read.family)
      return grant && read.number === grant.number
        ? { grant, key: undefined, expires_at: grant.expires_at }
        : undefined
    }
    if (!isWellFormed(token)) return undefined
    const key = await keyStore(db).findBySecretHash(Buffer.from(secretHash(token), "base64"))
    const grant = key && !key.revoked_at ? await grantStore(db).ofKey(key.id) : undefined
    if (!key || !grant) return undefined
    const ends = [key.expires_at, key.grace_expires_at].flatMap(at => (at ? [at.getTime()] : []))
    return { grant, key, expires_at: new Date(Math.min(...ends)) }
  }

  const seconds = (at: Date) => Math.floor(at.getTime() / 1000)

  return {
    async token(input: TokenInput, call: AccountCall): Promise<Issued> {
      if (!(OAUTH_GRANTS as readonly string[]).includes(input.grant_type))
        throw fault("oauth_unsupported_grant_type", { grant_type: input.grant_type })
      const client = await directory.authenticate(input, call)
      if (!client.grant_types.includes(input.grant_type)) throw fault("oauth_unauthorized_client")
      if (input.resource !== undefined && !isOwnResource(input.resource, baseUrl))
        throw fault("oauth_invalid_target")
      const issued = await exchange(input, client, call.now)
      if (!issued) throw fault("oauth_invalid_grant")
      return issued
    },

    async deviceAuthorization(input: Input<Specs["deviceAuthorization"]>, call: AccountCall) {
      const client = await directory.authenticate(input, call)
      const { row, deviceCode } = newDevice(client, input.scope, call.now)
      await authorizationStore(call.db).insert(row)
      const user_code = shownCode(row.user_code ?? "")
      const verification_uri = `${baseUrl}/oauth/device`
      return {
        device_code: deviceCode,
        user_code,
        verification_uri,
        verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
        expires_in: OAUTH_DECISION_SECONDS,
        interval: OAUTH_DEVICE_INTERVAL_SECONDS,
      }
    },

    async revoke(input: Input<Specs["revoke"]>, call: AccountCall): Promise<undefined> {
      const client = await directory.authenticate(input, call)
      const found = await find(call.db, client, input.token, call.now)
      const grant = found && (await grantStore(call.db).lock(found.grant.id))
      if (!grant) return
      await grants.end(call.db, grant, call.now)
      call.describe(endOf(grant))
    },

    async introspect(input: Input<Specs["introspect"]>, call: AccountCall): Promise<Described> {
      const client = await directory.authenticate(input, call)
      const found = await find(call.db, client, input.token, call.now)
      if (!found) return { active: false }
      const { grant, key, expires_at } = found
      return {
        active: true,
        scope: (key?.scopes ?? grant.scopes).join(" "),
        client_id: grant.client_id,
        ...(key?.user_email && { username: key.user_email }),
        ...(key && { token_type: "Bearer" }),
        exp: seconds(expires_at),
        iat: seconds(key?.created_at ?? grant.numbered_at),
        sub: grant.user_id,
        iss: baseUrl,
      }
    },
  }
}

/** What the audit trail says of a connection that ends. */
export const endOf = ({ organization_id, client_id, name, project_id }: GrantRow) => ({
  action: "oauth_app_revoked",
  tenantId: organization_id,
  targets: [{ type: "oauth_client", id: client_id, name }],
  metadata: { project_id },
})
