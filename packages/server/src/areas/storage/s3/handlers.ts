/** S3's operations over the object store, by method, path and query. */

import { areas, type Reply } from "@svc/contract"
import type { AccessKeys } from "../../../core/keys/signatures.ts"
import type { AccountCall, Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import { implement } from "../../../kernel/implement.ts"
import { toIso } from "../../../kernel/to-iso.ts"
import type { BucketAccess } from "../access/access.ts"
import type { Place } from "../object-store.ts"
import * as buckets from "./buckets.ts"
import { answerPreflight, replyHeaders } from "./cors.ts"
import { s3Region } from "./facts.ts"
import { createFormAnswer } from "./forms.ts"
import * as objects from "./objects.ts"
import { createOpenBuckets, createPublicAnswer, ownersMeter, type PublicNeeds } from "./public.ts"
import { fieldOf, type Query, s3CallOf } from "./request.ts"
import { handlerOf, only, putTable, type Table, tables } from "./tables.ts"

const { createBucket } = buckets

type Input = Query & { readonly bucket?: string; readonly key?: string }

export interface S3Needs extends PublicNeeds {
  readonly accessKeys: AccessKeys
  /** Where the platform is reached. */
  readonly baseUrl: string
  /** Names below it are buckets. */
  readonly s3Domain: string | undefined
}

/** The endpoint at which the name of a host can be a bucket. */
const virtualHostEndpoint = ({ baseUrl, s3Domain }: S3Needs): string | null => {
  if (s3Domain === undefined) return null
  const url = new URL(baseUrl)
  url.hostname = s3Domain
  return url.origin
}

type Field = "setHeader" | "operation"

/** The declaration may name one status, which then goes without saying. */
const finish = ({ headers = {}, ...reply }: Reply, { setHeader, operation }: Pick<Call, Field>): unknown => {
  for (const [name, value] of Object.entries(headers)) setHeader(name, value)
  return Object.keys(operation.replies).length === 1 ? reply.body : reply
}

/** What a reply says to pages of other origins; before it is known what it is, because refusals say it too. */
const tellOrigin = (
  access: BucketAccess | undefined,
  call: Pick<Call, "header" | "operation" | "setHeader">,
) => {
  if (!access) return
  for (const [name, value] of Object.entries(replyHeaders(access.settings, call))) call.setHeader(name, value)
}

export const s3Handlers = implement(areas.s3, (needs: S3Needs) => {
  const { stores, accesses, accessKeys, baseUrl, database } = needs
  const findOpen = createOpenBuckets(needs)

  /** In the caller's project, or in another one's that opened its bucket of that name. */
  const locate = async (place: Place, bucket: string) => {
    const access = await accesses.find(place.projectId, bucket)
    const other = access ? undefined : await findOpen(bucket)
    return other
      ? ({ kind: "other", place: other, access: await accesses.findNow(other.projectId, bucket) } as const)
      : ({ kind: "owner", place, access } as const)
  }

  /** The declaration names the statuses of all rows of a table together, so each row's is not told by types. */
  const answer = (table: Table) =>
    (async (input: Input, call: Call): Promise<unknown> => {
      const { bucket = "", key = "", ...query } = input
      const handle = handlerOf(table, query)
      const own = { organization: call.organization, projectId: call.project?.id ?? "" }
      const isOwn = bucket === "" || handle === createBucket
      const found = isOwn ? ({ kind: "owner", place: own } as const) : await locate(own, bucket)
      const { kind, place } = found
      const access = "access" in found ? found.access : undefined
      tellOrigin(access, call)
      const store = stores.storeFor(call, kind, own.projectId, name => fieldOf(query, name))
      const meter = kind === "other" ? ownersMeter(needs, place, call.now) : call.meter
      return finish(
        await handle({
          ...{ call: s3CallOf(call, query, meter), store, place, bucket, key, query },
          lifecycle: access?.settings.lifecycle,
        }),
        call,
      )
    }) as (input: object, call: Call) => Promise<never>

  const answerAnybody = createPublicAnswer(needs, findOpen)
  const answerPublic = (table: Table, closed?: readonly string[]) =>
    (async ({ bucket = "", key = "", ...query }: Input, call: AccountCall): Promise<unknown> => {
      const told = (access: BucketAccess) => tellOrigin(access, call)
      return finish(await answerAnybody({ table, closed, told }, call, { bucket, key, query }), call)
    }) as (input: object, call: AccountCall) => Promise<never>

  const answerForm = createFormAnswer(needs, findOpen)
  const preflight = (async ({ bucket = "" }: Input, call: AccountCall): Promise<unknown> =>
    finish(await answerPreflight(database.db, bucket, call), call)) as (
    input: object,
    call: AccountCall,
  ) => Promise<never>

  return {
    async credentials(_input, { principal, project }) {
      if (principal.type !== "key") throw fault("key_required")
      const { accessKeyId, secretAccessKey } = await accessKeys.ofKey(principal, project?.id ?? "")
      return {
        access_key_id: accessKeyId,
        secret_access_key: secretAccessKey,
        endpoint: `${baseUrl}/s3`,
        region: s3Region,
        virtual_host_endpoint: virtualHostEndpoint(needs),
        expires_at: toIso(principal.key?.expiresAt),
      }
    },
    listBuckets: answer(only(buckets.listBuckets)),
    getBucket: answer(tables.getBucket),
    headBucket: answer(only(buckets.headBucket)),
    putBucket: answer(tables.putBucket),
    deleteBucket: answer(tables.deleteBucket),
    postBucket: answer(tables.postBucket),
    getObject: answer(tables.getObject),
    headObject: answer(only(objects.headObject)),
    putObject: answer(putTable),
    deleteObject: answer(tables.deleteObject),
    postObject: answer(tables.postObject),
    getPublicBucket: answerPublic(tables.getBucket),
    headPublicBucket: answerPublic(only(buckets.headBucket)),
    getPublicObject: answerPublic(tables.getObject, ["uploadId", "attributes"]),
    headPublicObject: answerPublic(only(objects.headObject)),
    putPublicObject: answerPublic(putTable, ["uploadId"]),
    deletePublicObject: answerPublic(tables.deleteObject, ["uploadId"]),
    postPublicBucket: (async ({ bucket = "" }: Input, call: AccountCall): Promise<unknown> =>
      finish(await answerForm(bucket, call), call)) as (input: object, call: AccountCall) => Promise<never>,
    preflightBucket: preflight,
    preflightObject: preflight,
  }
})
