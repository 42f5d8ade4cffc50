/**
 * Signing in the name of an API key, for clients that speak S3. Access keys are derived from API keys and stored
 * nowhere: the id says which key it is, the secret follows from the platform's own secret and the hash of the key's.
 * So they end with their key, however that ends, and can do what it can.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import type { Principal, SignedRequest } from "../../kernel/call.ts"
import type { Incoming } from "../../kernel/exchange.ts"
import { fault } from "../../kernel/fault.ts"
import type { Projects, Signatures } from "../../kernel/needs.ts"
import type { ApiKeyCache } from "./key-cache.ts"
import { isQuerySigned, querySignaturesOf, readQueryClaim } from "./sigv2.ts"
import { type Claim, isSameSignature, isSigned, readClaim, signatureOf, signingKeyOf } from "./sigv4.ts"

const SIGNING_KEYS_MAX = 10_000

/** How far the clocks of client and server may be apart: S3's own. */
const SKEW_MS_MAX = 15 * 60_000

export interface AccessKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface AccessKeys {
  /** The access key of an API key; acts in the project that is named where the key itself is bound to none. */
  ofKey(principal: Principal, projectId: string): Promise<AccessKey>
  /** Who signed the policy of a form, by version 2 where no scope is told. Scopes and addresses are the caller's to judge. */
  ofForm(claim: FormClaim, nowMs: number): Promise<Principal>
}

export interface FormClaim {
  readonly accessKeyId: string
  /** As it came, in base64. */
  readonly policy: string
  readonly signature: string
  /** `20260102/us-east-1/s3/aws4_request` */
  readonly scope?: string
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
const UUID_BYTES = 16

/** RFC 4648, 6, without padding. */
const toBase32 = (bytes: Buffer): string => {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, "0")).join("")
  return (bits.match(/.{1,5}/g) ?? []).map(five => BASE32[Number.parseInt(five.padEnd(5, "0"), 2)]).join("")
}

const fromBase32 = (text: string): Buffer => {
  const bits = [...text].map(letter => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("")
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex")

const uuidAt = (bytes: Buffer, at: number): string =>
  bytes.toString("hex", at, at + UUID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")

/** Whose access key it is, and where it acts when its API key may act in several projects. */
interface KeyReference {
  readonly keyId: string
  readonly projectId: string | null
}

const writeId = ({ keyId, projectId }: KeyReference): string =>
  toBase32(Buffer.concat([keyId, ...(projectId === null ? [] : [projectId])].map(uuidBytes)))

const readId = (accessKeyId: string): KeyReference => {
  const bytes = /^[A-Z2-7]+$/.test(accessKeyId) ? fromBase32(accessKeyId) : Buffer.alloc(0)
  const isOne = bytes.length === UUID_BYTES || bytes.length === 2 * UUID_BYTES
  if (!isOne || toBase32(bytes) !== accessKeyId) throw fault("invalid_api_key")
  return { keyId: uuidAt(bytes, 0), projectId: bytes.length > UUID_BYTES ? uuidAt(bytes, UUID_BYTES) : null }
}

const checkTime = ({ form, timeMs, expiresSeconds }: Claim, nowMs: number) => {
  const isEarly = timeMs - nowMs > SKEW_MS_MAX
  if (isEarly || (form === "header" && nowMs - timeMs > SKEW_MS_MAX)) throw fault("request_time_skewed")
  if (expiresSeconds !== null && nowMs > timeMs + expiresSeconds * 1000) throw fault("signature_expired")
}

/** Headers that change what a request does must be signed, because a presigned URL can be used by anyone who has it. */
const checkCoverage = (incoming: Incoming, { form, signedHeaders }: Claim) => {
  const covered = new Set(signedHeaders)
  // Its value is part of what is signed wherever it comes from.
  if (form === "query") covered.add("x-amz-content-sha256")
  const loose = incoming.headerNames().find(name => name.startsWith("x-amz-") && !covered.has(name))
  if (loose !== undefined)
    throw fault("signature_malformed", { reason: `it does not cover the header ${loose}` })
}

/** Version 2 covers no body, and signs no chunks. */
const UNSIGNED_BODY: SignedRequest = Object.freeze({
  signingKey: createSecretKey(Buffer.alloc(1)),
  time: "",
  credentialScope: "",
  signature: "",
  payloadHash: "UNSIGNED-PAYLOAD",
})

export interface SignatureNeeds {
  readonly keyCache: Pick<ApiKeyCache, "signer" | "admitSigner">
  readonly projects: Projects
  readonly masterKey: Buffer
}

export const createSignatures = ({
  keyCache,
  projects,
  masterKey,
}: SignatureNeeds): Signatures & AccessKeys => {
  const derivationKey = Buffer.from(hkdfSync("sha256", masterKey, "svc:access-keys", "", 32))

  const secretOf = (accessKeyId: string, secretHash: Buffer): string =>
    createHmac("sha256", derivationKey)
      .update(accessKeyId)
      .update("\0")
      .update(secretHash)
      .digest("base64url")

  // Made in five steps that cost more than the rest of a check, and the same all day. A key never changes its hash.
  const signingKeys = createBoundedCache<KeyObject>(SIGNING_KEYS_MAX)
  const signingKeyFor = ({ accessKeyId, scope }: Claim, secretHash: Buffer): KeyObject => {
    const name = `${accessKeyId}/${scope}`
    const known = signingKeys.get(name) ?? signingKeyOf(secretOf(accessKeyId, secretHash), scope)
    signingKeys.set(name, known)
    return known
  }

  const inProject = async (principal: Principal, projectId: string | null): Promise<Principal> => {
    if (projectId === null) return principal
    const project = await projects.find(principal.organization?.id ?? "", projectId)
    if (!project) throw fault("project_not_in_organization")
    return { ...principal, project }
  }

  const signerOf = async (accessKeyId: string) => {
    const { keyId, projectId } = readId(accessKeyId)
    const signer = await keyCache.signer(keyId)
    if (!signer) throw fault("invalid_api_key")
    return { signer, projectId }
  }

  /** A URL that was presigned by version 2. */
  const checkQuery = async (incoming: Incoming, method: string, nowMs: number) => {
    const request = {
      ...{ method, target: incoming.target, bucket: String(incoming.params.bucket ?? "") },
      header: (name: string) => incoming.header(name),
      headerNames: () => incoming.headerNames(),
    }
    const claim = readQueryClaim(request)
    if (nowMs > claim.expiresMs) throw fault("signature_expired")
    const { signer, projectId } = await signerOf(claim.accessKeyId)
    const secret = secretOf(claim.accessKeyId, signer.secretHash)
    const right = querySignaturesOf(request, claim, secret)
    if (!right.some(signature => isSameSignature(signature, claim.signature)))
      throw fault("signature_invalid")
    return {
      principal: await inProject(keyCache.admitSigner(signer, nowMs), projectId),
      signed: UNSIGNED_BODY,
    }
  }

  return {
    claims: incoming => isSigned(incoming.target, incoming.header("authorization")),

    async check(incoming, method, nowMs): Promise<{ principal: Principal; signed: SignedRequest }> {
      if (incoming.header("authorization") === undefined && isQuerySigned(incoming.target))
        return checkQuery(incoming, method, nowMs)
      const request = { method, target: incoming.target, header: (name: string) => incoming.header(name) }
      const claim = readClaim(request)
      checkTime(claim, nowMs)
      checkCoverage(incoming, claim)
      const { signer, projectId } = await signerOf(claim.accessKeyId)
      const signingKey = signingKeyFor(claim, signer.secretHash)
      if (!isSameSignature(signatureOf(request, claim, signingKey), claim.signature))
        throw fault("signature_invalid")
      const { time, scope: credentialScope, signature, payloadHash } = claim
      return {
        principal: await inProject(keyCache.admitSigner(signer, nowMs), projectId),
        signed: { signingKey, time, credentialScope, signature, payloadHash },
      }
    },

    async ofForm({ accessKeyId, policy, signature, scope }, nowMs) {
      const { signer, projectId } = await signerOf(accessKeyId)
      const secret = secretOf(accessKeyId, signer.secretHash)
      const right =
        scope === undefined
          ? createHmac("sha1", secret).update(policy).digest("base64")
          : createHmac("sha256", signingKeyOf(secret, scope)).update(policy).digest("hex")
      if (!isSameSignature(right, signature)) throw fault("signature_invalid")
      return await inProject(keyCache.admitSigner(signer, nowMs), projectId)
    },

    async ofKey(principal, projectId) {
      const signer = await keyCache.signer(principal.id)
      if (!signer) throw fault("invalid_api_key")
      const accessKeyId = writeId({ keyId: principal.id, projectId: principal.project ? null : projectId })
      return { accessKeyId, secretAccessKey: secretOf(accessKeyId, signer.secretHash) }
    },
  }
}
