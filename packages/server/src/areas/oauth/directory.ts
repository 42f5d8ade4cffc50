/** Finds clients by their id, and lets them prove who they are. */
import { timingSafeEqual } from "node:crypto"
import { OAUTH_CLI_CLIENT_ID } from "@svc/contract"
import { tokenHash } from "../../core/accounts/token.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { cliClient } from "./clients.ts"
import type { Documents } from "./documents.ts"
import { type ClientRow, clientStore } from "./store.ts"

const ID_LENGTH_MAX = 2000

export interface Credentials {
  readonly client_id?: string
  readonly client_secret?: string
}

const BASIC = /^basic +([A-Za-z0-9+/=]{1,8000}) *$/i

/** The id and secret of HTTP Basic, each encoded as in a form (RFC 6749, 2.3.1). */
const basicOf = (header: string): Required<Credentials> => {
  const [, encoded = ""] = BASIC.exec(header) ?? []
  const [id = "", ...secret] = Buffer.from(encoded, "base64").toString("utf8").split(":")
  try {
    const decode = (text: string) => decodeURIComponent(text.replaceAll("+", " "))
    return { client_id: decode(id), client_secret: decode(secret.join(":")) }
  } catch {
    return { client_id: "", client_secret: "" }
  }
}

const refused = (isBasic: boolean): Fault =>
  fault("oauth_invalid_client", undefined, {
    headers: { "www-authenticate": isBasic ? 'Basic realm="svc"' : "Bearer" },
  })

const isSecret = (given: string | undefined, { secret_hash }: ClientRow): boolean =>
  secret_hash !== null && given !== undefined && timingSafeEqual(tokenHash(given), secret_hash)

export const createDirectory = (documents: Documents) => {
  const stored = async (db: Db, id: string): Promise<ClientRow | undefined> => {
    if (id === OAUTH_CLI_CLIENT_ID) return cliClient
    return id === "" || id.length > ID_LENGTH_MAX || id.includes("\0") ? undefined : clientStore(db).find(id)
  }

  return {
    stored,

    /** The client of an authorization that begins: its metadata document is read where that is due. */
    async find(db: Db, id: string, now: Date): Promise<ClientRow> {
      if (documents.isDocument(id)) return documents.find(db, id, now)
      const client = await stored(db, id)
      if (!client) throw refused(false)
      return client
    },

    /** The client that sends a form; throws `oauth_invalid_client`. */
    async authenticate(form: Credentials, { db, header }: Pick<Call, "db" | "header">): Promise<ClientRow> {
      const authorization = header("authorization")
      const isBasic = authorization !== undefined
      const { client_id, client_secret } = isBasic ? basicOf(authorization) : form
      // Two ways at once would let a proxy and the platform see different clients.
      const isTwice =
        isBasic && (form.client_secret !== undefined || (form.client_id ?? client_id) !== client_id)
      const client = isTwice ? undefined : await stored(db, client_id ?? "")
      if (!client) throw refused(isBasic)
      if (client.auth_method === "none" ? (client_secret ?? "") !== "" : !isSecret(client_secret, client))
        throw refused(isBasic)
      return client
    },
  }
}

export type Directory = ReturnType<typeof createDirectory>
