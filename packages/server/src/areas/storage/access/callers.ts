/** Who calls, as policies see it. */
import type { AccountCall, Call, Principal } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import type { ObjectStore } from "../object-store.ts"
import {
  type Accesses,
  allows,
  type BucketAccess,
  type Caller,
  type ConditionValues,
  principalsOf,
} from "./access.ts"
import { guardStore } from "./guarded-store.ts"

type Called = Pick<AccountCall, "header" | "headerNames" | "ip" | "now" | "userAgent"> & {
  readonly principal: Pick<Principal, "id" | "type">
}

export interface CallerNeeds {
  readonly store: ObjectStore
  readonly accesses: Accesses
  readonly baseUrl: string
}

const one = (value: string | undefined): readonly string[] | undefined =>
  value === undefined ? undefined : [value]

/** Fields of a listing's query, under the names that conditions have for them. */
const OF_QUERY: ReadonlySet<string> = new Set(["prefix", "delimiter", "max-keys"])

const requestTags = (header: string | undefined) => [...new URLSearchParams(header ?? "")]

const headerOf = ({ header, headerNames }: Called, name: string) => {
  const wanted = name.toLowerCase()
  return headerNames().includes(wanted) ? one(header(wanted)) : undefined
}

/** `s3:…` */
const s3Value = (call: Called, name: string, query: (name: string) => string | undefined) => {
  if (OF_QUERY.has(name)) return one(query(name))
  if (name === "versionid") return one(query("versionId"))
  if (name === "authtype") return one(call.principal.type === "anonymous" ? undefined : "REST-HEADER")
  if (name === "requestobjecttagkeys") {
    const keys = requestTags(call.header("x-amz-tagging")).map(([key]) => key)
    return keys.length > 0 ? keys : undefined
  }
  if (name.startsWith("requestobjecttag/")) {
    const wanted = name.slice("requestobjecttag/".length)
    return one(requestTags(call.header("x-amz-tagging")).find(([key]) => key.toLowerCase() === wanted)?.[1])
  }
  return name.startsWith("x-amz-") ? headerOf(call, name) : undefined
}

const valuesOf =
  (call: Called, isSecure: boolean, query: (name: string) => string | undefined): ConditionValues =>
  key => {
    if (key.startsWith("s3:")) return s3Value(call, key.slice("s3:".length), query)
    switch (key) {
      case "aws:sourceip":
        return [call.ip]
      case "aws:securetransport":
        return [String(isSecure)]
      case "aws:useragent":
        return one(call.userAgent ?? undefined)
      case "aws:referer":
        return one(call.header("referer"))
      case "aws:currenttime":
        return [call.now.toISOString()]
      case "aws:epochtime":
        return [String(Math.floor(call.now.getTime() / 1000))]
      case "aws:principaltype":
        return [call.principal.type === "anonymous" ? "Anonymous" : "User"]
      case "aws:userid":
        return one(call.principal.id || undefined)
      default:
        return undefined
    }
  }

const noQuery = () => undefined

/** The store as the caller may use it in buckets of its own project, or of another one's. */
export const createStores = ({ store, accesses, baseUrl }: CallerNeeds) => {
  // Whoever ends TLS in front of the platform tells the address at which it is reached.
  const isSecure = baseUrl.startsWith("https:")

  const callerOf = (
    call: Called,
    kind: Caller["kind"],
    projectId: string,
    query: Query = noQuery,
  ): Caller => ({
    kind,
    isPerson: call.principal.type === "session",
    principals: call.principal.id === "" ? [] : principalsOf(call.principal, projectId),
    valuesOf: valuesOf(call, isSecure, query),
  })

  const storeFor = (call: Called, kind: Caller["kind"], projectId: string, query?: Query) =>
    guardStore(store, accesses, callerOf(call, kind, projectId, query))

  const check = (call: Call, access: BucketAccess | undefined, action: string, key?: string) => {
    if (access && !allows(access, callerOf(call, "owner", call.owner), { action, key }))
      throw fault("bucket_access_denied")
  }

  return {
    storeFor,
    /** Of calls of the JSON API, which are always the owner's. */
    ownStore: (call: Call) => storeFor(call, "owner", call.owner),
    check,
    /** Before an upload begins that goes around the store. */
    async checkPut(call: Call, { bucket, key }: { readonly bucket: string; readonly key: string }) {
      check(call, await accesses.find(call.owner, bucket), "s3:PutObject", key)
    },
  }
}

type Query = (name: string) => string | undefined

export type Stores = ReturnType<typeof createStores>
