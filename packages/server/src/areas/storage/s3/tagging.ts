/** Tags of objects, versions and buckets. */
import { BUCKET_TAGS_MAX, OBJECT_TAGS_MAX } from "@svc/contract"
import type { Tags } from "../object-store.ts"
import { tagProblem, tagsOf } from "../rules/tags.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { type S3Call, type S3Handler, xml } from "./request.ts"
import { readVersion, versionHeaders, versionOf } from "./versions.ts"
import { element, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

type Pairs = readonly (readonly [string, string])[]

const checked = (pairs: Pairs, countMax: number): Tags => {
  const problem = tagProblem(pairs, countMax)
  if (problem !== undefined) throw s3Fault("InvalidTag", problem)
  return tagsOf(pairs)
}

/** `x-amz-tagging: a=1&b=2`, escaped like a query; undefined where the request has none. */
export const readTagHeader = ({ header }: Pick<S3Call, "header">): Tags | undefined => {
  const given = header("x-amz-tagging")
  return given === undefined ? undefined : checked([...new URLSearchParams(given)], OBJECT_TAGS_MAX)
}

const readTags = async (call: S3Call, countMax: number): Promise<Tags> =>
  await readTagsOf(await readBody(call), countMax)

/** Of a document. */
export const readTagsOf = async (document: string, countMax: number = OBJECT_TAGS_MAX): Promise<Tags> => {
  const root = await parseXml(document, "Tagging")
  const [set] = childrenOf(root, "TagSet")
  if (!set) throw s3Fault("MalformedXML", "there is no TagSet")
  const pairs = childrenOf(set, "Tag").map(tag => {
    const key = textOf(tag, "Key")
    if (key === undefined) throw s3Fault("MalformedXML", "a tag has no Key")
    return [key, textOf(tag, "Value") ?? ""] as const
  })
  return checked(pairs, countMax)
}

const tagSet = (tags: Tags, headers: Readonly<Record<string, string>> = {}) =>
  xml(
    "Tagging",
    [
      element(
        "TagSet",
        Object.entries(tags).map(([key, value]) => element("Tag", [text("Key", key), text("Value", value)])),
      ),
    ],
    headers,
  )

export const getObjectTagging: S3Handler = async ({ store, place, bucket, key, query }) => {
  const object = await readVersion(versionOf(query), version =>
    store.find(place, bucket, key, version, "s3:GetObjectTagging"),
  )
  return tagSet(object.tags, versionHeaders(object))
}

export const putObjectTagging: S3Handler = async ({ call, store, place, bucket, key, query }) => {
  const tags = await readTags(call, OBJECT_TAGS_MAX)
  const object = await readVersion(versionOf(query), version =>
    store.setTags(place, bucket, { key, version }, tags),
  )
  return { status: 200, body: undefined, headers: versionHeaders(object) }
}

export const deleteObjectTagging: S3Handler = async ({ store, place, bucket, key, query }) => {
  const object = await readVersion(versionOf(query), version =>
    store.setTags(place, bucket, { key, version }, {}),
  )
  return { status: 204, body: undefined, headers: versionHeaders(object) }
}

export const getBucketTagging: S3Handler = async ({ store, place, bucket }) => {
  const { tags } = await store.findBucket(place, bucket, "s3:GetBucketTagging")
  if (Object.keys(tags).length === 0) throw s3Fault("NoSuchTagSet")
  return tagSet(tags)
}

export const putBucketTagging: S3Handler = async ({ call, store, place, bucket }) => {
  await store.setBucketTags(place, bucket, await readTags(call, BUCKET_TAGS_MAX))
  return { status: 200, body: undefined }
}

export const deleteBucketTagging: S3Handler = async ({ store, place, bucket }) => {
  await store.setBucketTags(place, bucket, {})
  return { status: 204, body: undefined }
}
