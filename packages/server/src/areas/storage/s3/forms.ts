/** Uploads by forms of browsers: `POST` to a bucket, signed by a policy among the fields or open to anybody. */
import type { Reply } from "@svc/contract"
import type { AccessKeys } from "../../../core/keys/signatures.ts"
import type { AccountCall, Principal } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import { holds } from "../../../kernel/scopes.ts"
import { admitAddress } from "../../../kernel/stages/address.ts"
import type { Place } from "../object-store.ts"
import { formProblem, readFormPolicy } from "../rules/form-policy.ts"
import { readAclHeader } from "./acl.ts"
import { s3Fault } from "./errors.ts"
import { checkKey, checkSupported, readAttributes } from "./headers.ts"
import { readForm } from "./multipart-form.ts"
import { expectedDigests } from "./payload.ts"
import { ownersMeter, type PublicNeeds } from "./public.ts"
import { quoted, xml } from "./request.ts"
import { readTagHeader, readTagsOf } from "./tagging.ts"
import { versionHeaders } from "./versions.ts"
import { text } from "./xml.ts"

type Fields = ReadonlyMap<string, string>

interface Sender {
  readonly kind: "owner" | "anybody"
  readonly principal: Pick<Principal, "id" | "type">
  readonly place: Place
  readonly bytes: { readonly min: number; readonly max: number }
}

export interface FormNeeds extends PublicNeeds {
  readonly accessKeys: AccessKeys
}

const need = (fields: Fields, name: string): string => {
  const value = fields.get(name)
  if (value === undefined) throw s3Fault("InvalidArgument", `the form has no field ${name}`)
  return value
}

const SCOPE = /^([A-Z2-7]+)\/(\d{8}\/[\w-]+\/s3\/aws4_request)$/

const readClaim = (fields: Fields, policy: string) => {
  if (!fields.has("x-amz-signature"))
    return { policy, accessKeyId: need(fields, "awsaccesskeyid"), signature: need(fields, "signature") }
  const [, accessKeyId, scope] = SCOPE.exec(need(fields, "x-amz-credential")) ?? []
  if (
    accessKeyId === undefined ||
    scope === undefined ||
    fields.get("x-amz-algorithm") !== "AWS4-HMAC-SHA256"
  )
    throw fault("signature_malformed", {
      reason: "the form's credential or algorithm is not one of version 4",
    })
  return { policy, accessKeyId, scope, signature: need(fields, "x-amz-signature") }
}

/** A form's signature stands for its maker as a header's does: scopes, addresses and the end of the key hold. */
const findSigner = async (needs: FormNeeds, fields: Fields, policy: string, call: AccountCall) => {
  const principal = await needs.accessKeys.ofForm(readClaim(fields, policy), call.now.getTime())
  admitAddress(principal, call.ip)
  if (principal.readOnly) throw fault("key_read_only")
  if (!holds(principal, "storage:write")) throw fault("missing_scope", { scopes: "storage:write" })
  const place = principal.project && (await needs.tenants.find(principal.project.id))
  if (!place) throw fault("invalid_api_key")
  return { principal, place }
}

const findSender = async (
  needs: FormNeeds,
  findOpen: (bucket: string) => Promise<Place | undefined>,
  { bucket, key, fields, call }: { bucket: string; key: string; fields: Fields; call: AccountCall },
): Promise<Sender> => {
  const policy = fields.get("policy")
  if (policy === undefined) {
    const place = await findOpen(bucket)
    if (!place || fields.has("signature") || fields.has("x-amz-signature")) throw fault("missing_credentials")
    return {
      kind: "anybody",
      principal: call.principal,
      place,
      bytes: { min: 0, max: Number.MAX_SAFE_INTEGER },
    }
  }
  const signer = await findSigner(needs, fields, policy, call)
  const read = readFormPolicy(policy)
  if (!read) throw s3Fault("InvalidPolicyDocument")
  if (read.expiresMs <= call.now.getTime()) throw s3Fault("AccessDenied", "the policy has expired")
  const problem = formProblem(read, new Map([...fields, ["bucket", bucket], ["key", key]]))
  if (problem !== undefined) throw s3Fault("AccessDenied", problem)
  return { kind: "owner", ...signer, bytes: read.bytes }
}

async function* bounded(source: AsyncIterable<Uint8Array>, { min, max }: Sender["bytes"]) {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > max) throw s3Fault("EntityTooLarge")
    yield chunk
  }
  if (bytes < min) throw s3Fault("EntityTooSmall")
}

const readTags = async (fields: Fields, header: (name: string) => string | undefined) => {
  const document = fields.get("tagging")
  return document === undefined ? readTagHeader({ header }) : await readTagsOf(document)
}

interface Stored {
  readonly bucket: string
  readonly key: string
  readonly etag: string
}

const redirectOf = (fields: Fields, { bucket, key, etag }: Stored): string | undefined => {
  const given = fields.get("success_action_redirect") ?? fields.get("redirect")
  if (given === undefined || !/^https?:\/\//i.test(given) || !URL.canParse(given)) return undefined
  const url = new URL(given)
  for (const [name, value] of Object.entries({ bucket, key, etag: quoted(etag) }))
    url.searchParams.set(name, value)
  return url.href
}

const answer = (fields: Fields, stored: Stored, headers: Readonly<Record<string, string>>): Reply => {
  const redirect = redirectOf(fields, stored)
  const location = `/${stored.bucket}/${encodeURIComponent(stored.key)}`
  const told = { ...headers, etag: quoted(stored.etag) }
  if (redirect !== undefined)
    return { status: 303, body: undefined, headers: { ...told, location: redirect } }
  const status = fields.get("success_action_status")
  if (status === "200") return { status: 200, body: undefined, headers: { ...told, location } }
  if (status !== "201") return { status: 204, body: undefined, headers: { ...told, location } }
  const { bucket, key, etag } = stored
  const elements = [
    text("Location", location),
    text("Bucket", bucket),
    text("Key", key),
    text("ETag", quoted(etag)),
  ]
  return { ...xml("PostResponse", elements, { ...told, location }), status: 201 }
}

export const createFormAnswer =
  (needs: FormNeeds, findOpen: (bucket: string) => Promise<Place | undefined>) =>
  async (bucket: string, call: AccountCall): Promise<Reply> => {
    const { fields, file } = await readForm(call.stream, call.header("content-type"))
    const key = need(fields, "key").replaceAll(/\$\{filename\}/g, () => file.name)
    if (key === "") throw s3Fault("InvalidArgument", "the key is empty")
    checkKey(key)
    const sender = await findSender(needs, findOpen, { bucket, key, fields, call })
    const { place } = sender
    call.describe({ tenantId: place.organization.id })
    // Fields stand for the headers of a PUT, those of the request for nothing.
    const header = (name: string) =>
      fields.get(name) ?? (name === "x-amz-acl" ? fields.get("acl") : undefined)
    const asked = { header, headerNames: () => [...fields.keys()] }
    checkSupported(asked)
    const acl = readAclHeader(asked)
    const tags = await readTags(fields, header)
    const { ip, now, userAgent, signal } = call
    const store = needs.stores.storeFor(
      { ...asked, ip, now, userAgent, principal: sender.principal },
      sender.kind,
      place.projectId,
    )
    const object = await store.put(place, {
      ...{ bucket, key, now, signal, source: bounded(file.bytes, sender.bytes), ...readAttributes(asked) },
      expected: expectedDigests(asked),
      ...(tags && { tags }),
      ...(acl && { acl }),
    })
    ownersMeter(needs, place, now)("ingress_bytes", object.size)
    return answer(fields, object, versionHeaders(object))
  }
