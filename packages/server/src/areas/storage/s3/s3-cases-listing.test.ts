/** Lists of objects, as far as they are in ceph's s3-tests. */
import assert from "node:assert/strict"
import {
  ListObjectsCommand,
  type ListObjectsCommandInput,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  ListObjectVersionsCommand,
} from "@aws-sdk/client-s3"
import { type Cases, refused, runCases, type S3World } from "./testing/world.ts"

interface Listed {
  readonly keys: readonly string[]
  readonly prefixes: readonly string[]
  readonly truncated: boolean
}

const shown = (reply: {
  Contents?: { Key?: string | undefined }[] | undefined
  CommonPrefixes?: { Prefix?: string | undefined }[] | undefined
  IsTruncated?: boolean | undefined
}): Listed => ({
  keys: (reply.Contents ?? []).map(({ Key = "" }) => Key),
  prefixes: (reply.CommonPrefixes ?? []).map(({ Prefix = "" }) => Prefix),
  truncated: reply.IsTruncated ?? false,
})

type Ask = Omit<ListObjectsCommandInput, "Bucket">
type AskV2 = Omit<ListObjectsV2CommandInput, "Bucket">

const v1 = ({ s3 }: S3World, Bucket: string, ask: Ask = {}) =>
  s3.send(new ListObjectsCommand({ Bucket, ...ask }))
const v2 = ({ s3 }: S3World, Bucket: string, ask: AskV2 = {}) =>
  s3.send(new ListObjectsV2Command({ Bucket, ...ask }))

/** Both forms give the same for the same question. */
const both = async (
  world: S3World,
  keys: readonly string[],
  ask: Pick<Ask, "Prefix" | "Delimiter" | "MaxKeys">,
  expected: Partial<Listed>,
) => {
  const bucket = await world.bucketOf(...keys)
  const whole = { keys: [], prefixes: [], truncated: false, ...expected }
  assert.deepEqual(shown(await v1(world, bucket, ask)), whole)
  assert.deepEqual(shown(await v2(world, bucket, ask)), whole)
}

const same =
  (
    keys: readonly string[],
    ask: Pick<Ask, "Prefix" | "Delimiter" | "MaxKeys">,
    expected: Partial<Listed>,
  ): Cases[string] =>
  world =>
    both(world, keys, ask, expected)

const FRUIT = ["bar", "baz", "cab", "foo"]
const TREE = ["foo/bar", "foo/baz/xyzzy", "quux/thud", "asdf"]

runCases("lists of objects hold what they hold in S3: prefixes and delimiters", {
  test_bucket_list_empty: same([], {}, {}),
  test_bucket_list_distinct: async world => {
    await world.bucketOf("here")
    assert.deepEqual(shown(await v1(world, await world.bucketOf())).keys, [])
  },
  test_bucket_list_delimiter_basic: same(
    TREE,
    { Delimiter: "/" },
    { keys: ["asdf"], prefixes: ["foo/", "quux/"] },
  ),
  test_bucket_list_delimiter_alt: same(FRUIT, { Delimiter: "a" }, { keys: ["foo"], prefixes: ["ba", "ca"] }),
  test_bucket_list_delimiter_prefix_underscore: same(
    ["_obj1_", "_under1/bar", "_under1/baz/xyzzy", "_under2/thud"],
    { Delimiter: "/" },
    { keys: ["_obj1_"], prefixes: ["_under1/", "_under2/"] },
  ),
  test_bucket_list_delimiter_whitespace: same(
    ["b ar", "b az", "c ab", "foo"],
    { Delimiter: " " },
    { keys: ["foo"], prefixes: ["b ", "c "] },
  ),
  test_bucket_list_delimiter_dot: same(
    ["b.ar", "b.az", "c.ab", "foo"],
    { Delimiter: "." },
    { keys: ["foo"], prefixes: ["b.", "c."] },
  ),
  test_bucket_list_delimiter_unreadable: same(FRUIT, { Delimiter: "\n" }, { keys: FRUIT }),
  test_bucket_list_delimiter_empty: same(FRUIT, { Delimiter: "" }, { keys: FRUIT }),
  test_bucket_list_delimiter_none: async world => {
    const reply = await v1(world, await world.bucketOf(...FRUIT))
    assert.deepEqual(shown(reply).keys, FRUIT)
    assert.equal(reply.Delimiter, undefined)
  },
  test_bucket_list_delimiter_not_exist: same(FRUIT, { Delimiter: "/" }, { keys: FRUIT }),
  test_bucket_list_delimiter_not_skip_special: same(
    ["0/", ...Array.from({ length: 5 }, (_, at) => `0/100${at}`), "1999", "1999#", "1999+", "2000"],
    { Delimiter: "/" },
    { keys: ["1999", "1999#", "1999+", "2000"], prefixes: ["0/"] },
  ),
  test_bucket_list_prefix_basic: same(TREE, { Prefix: "foo/" }, { keys: ["foo/bar", "foo/baz/xyzzy"] }),
  test_bucket_list_prefix_alt: same(FRUIT, { Prefix: "ba" }, { keys: ["bar", "baz"] }),
  test_bucket_list_prefix_empty: same(FRUIT, { Prefix: "" }, { keys: FRUIT }),
  test_bucket_list_prefix_none: same(FRUIT, {}, { keys: FRUIT }),
  test_bucket_list_prefix_not_exist: same(FRUIT, { Prefix: "d" }, {}),
  test_bucket_list_prefix_unreadable: same(FRUIT, { Prefix: "\n" }, {}),
  test_bucket_list_prefix_delimiter_basic: same(
    TREE,
    { Prefix: "foo/", Delimiter: "/" },
    { keys: ["foo/bar"], prefixes: ["foo/baz/"] },
  ),
  test_bucket_list_prefix_delimiter_alt: same(
    ["bar", "bazar", "cab", "foo"],
    { Prefix: "ba", Delimiter: "a" },
    { keys: ["bar"], prefixes: ["baza"] },
  ),
  test_bucket_list_prefix_delimiter_prefix_not_exist: same(TREE, { Prefix: "/", Delimiter: "d" }, {}),
  test_bucket_list_prefix_delimiter_delimiter_not_exist: same(
    ["b/a/c", "b/a/g", "b/a/r", "g"],
    { Prefix: "b", Delimiter: "z" },
    { keys: ["b/a/c", "b/a/g", "b/a/r"] },
  ),
  test_bucket_list_prefix_delimiter_prefix_delimiter_not_exist: same(
    TREE,
    { Prefix: "y", Delimiter: "z" },
    {},
  ),
  test_bucket_list_special_prefix: same(
    ["_bla/1", "_bla/2", "_bla/3", "_bla/4", "abcd"],
    { Prefix: "_bla/" },
    { keys: ["_bla/1", "_bla/2", "_bla/3", "_bla/4"] },
  ),
  test_bucket_list_encoding_basic: async world => {
    const bucket = await world.bucketOf("foo+1/bar", "foo/bar/xyzzy", "quux ab/thud", "asdf+b")
    const reply = await v1(world, bucket, { Delimiter: "/", EncodingType: "url" })
    assert.deepEqual(shown(reply), {
      keys: ["asdf%2Bb"],
      prefixes: ["foo%2B1/", "foo/", "quux%20ab/"],
      truncated: false,
    })
  },
  test_bucket_listv2_encoding_basic: async world => {
    const bucket = await world.bucketOf("a&b<c>\"'", "tab\tand\rreturn", "snow ☃ 🎿")
    const plain = shown(await v2(world, bucket)).keys
    const encoded = shown(await v2(world, bucket, { EncodingType: "url" })).keys
    assert.deepEqual(encoded.map(decodeURIComponent), ["a&b<c>\"'", "snow ☃ 🎿", "tab\tand\rreturn"])
    assert.deepEqual(plain.slice(0, 2), ["a&b<c>\"'", "snow ☃ 🎿"])
  },
})

/** Goes through all pages by the name of the last entry, and gives each. */
const walk = async (world: S3World, bucket: string, ask: Ask): Promise<Listed[]> => {
  const pages: Listed[] = []
  for (let marker = ""; pages.length < 20; ) {
    const reply = await v1(world, bucket, { ...ask, Marker: marker })
    pages.push(shown(reply))
    if (!reply.IsTruncated) return pages
    marker = reply.NextMarker ?? reply.Contents?.at(-1)?.Key ?? ""
  }
  return assert.fail("the list does not end")
}

const walkV2 = async (world: S3World, bucket: string, ask: AskV2): Promise<Listed[]> => {
  const pages: Listed[] = []
  let token: string | undefined
  do {
    const reply = await v2(world, bucket, { ...ask, ContinuationToken: token })
    pages.push(shown(reply))
    token = reply.NextContinuationToken
  } while (token !== undefined && pages.length < 20)
  return pages
}

const PATHS = ["asdf", "boo/bar", "boo/baz/xyzzy", "cquux/thud", "cquux/bla"]
const page = (keys: readonly string[], prefixes: readonly string[], truncated: boolean): Listed => ({
  ...{ keys, prefixes, truncated },
})

runCases("lists of objects hold what they hold in S3: pages", {
  test_bucket_list_many: async world => {
    const bucket = await world.bucketOf("foo", "bar", "baz")
    assert.deepEqual(await walk(world, bucket, { MaxKeys: 2 }), [
      page(["bar", "baz"], [], true),
      page(["foo"], [], false),
    ])
  },
  test_bucket_listv2_many: async world => {
    const bucket = await world.bucketOf("foo", "bar", "baz")
    assert.deepEqual(await walkV2(world, bucket, { MaxKeys: 2 }), [
      page(["bar", "baz"], [], true),
      page(["foo"], [], false),
    ])
  },
  test_bucket_list_delimiter_prefix: async world => {
    const bucket = await world.bucketOf(...PATHS)
    assert.deepEqual(await walk(world, bucket, { Delimiter: "/", MaxKeys: 1 }), [
      page(["asdf"], [], true),
      page([], ["boo/"], true),
      page([], ["cquux/"], false),
    ])
    assert.deepEqual(await walk(world, bucket, { Delimiter: "/", MaxKeys: 2 }), [
      page(["asdf"], ["boo/"], true),
      page([], ["cquux/"], false),
    ])
    assert.deepEqual(await walk(world, bucket, { Delimiter: "/", Prefix: "boo/", MaxKeys: 1 }), [
      page(["boo/bar"], [], true),
      page([], ["boo/baz/"], false),
    ])
  },
  test_bucket_list_delimiter_prefix_ends_with_delimiter: same(
    ["asdf/"],
    { Delimiter: "/", Prefix: "asdf/", MaxKeys: 1000 },
    { keys: ["asdf/"] },
  ),
  test_bucket_listv2_delimiter_prefix: async world => {
    const bucket = await world.bucketOf(...PATHS)
    const pages = []
    let token: string | undefined
    do {
      const reply = await v2(world, bucket, { Delimiter: "/", MaxKeys: 1, ContinuationToken: token })
      assert.equal(reply.KeyCount, 1)
      pages.push(shown(reply))
      token = reply.NextContinuationToken
    } while (token !== undefined)
    assert.deepEqual(pages, [page(["asdf"], [], true), page([], ["boo/"], true), page([], ["cquux/"], false)])
  },
  test_bucket_list_maxkeys_one: async world => {
    const bucket = await world.bucketOf(...FRUIT)
    assert.deepEqual(shown(await v1(world, bucket, { MaxKeys: 1 })), page(["bar"], [], true))
    assert.deepEqual(shown(await v1(world, bucket, { Marker: "bar" })), page(FRUIT.slice(1), [], false))
  },
  test_bucket_list_maxkeys_zero: same(FRUIT, { MaxKeys: 0 }, {}),
  test_bucket_list_maxkeys_none: async world => {
    const reply = await v1(world, await world.bucketOf(...FRUIT))
    assert.deepEqual([shown(reply), reply.MaxKeys], [page(FRUIT, [], false), 1000])
  },
  test_bucket_list_maxkeys_invalid: async world => {
    const { platform: p, access } = world
    const response = await p.request(`/s3/${await world.bucketOf()}?max-keys=blah`, {
      headers: { authorization: `Bearer ${access.secret}` },
    })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /<Code>InvalidArgument<\/Code>/)
  },
  test_bucket_list_marker_none: async world =>
    assert.equal((await v1(world, await world.bucketOf(...FRUIT))).Marker ?? "", ""),
  test_bucket_list_marker_unreadable: async world => {
    const reply = await v1(world, await world.bucketOf(...FRUIT), { Marker: "\n" })
    assert.deepEqual(shown(reply).keys, FRUIT)
  },
  test_bucket_list_marker_not_in_list: async world =>
    assert.deepEqual(shown(await v1(world, await world.bucketOf(...FRUIT), { Marker: "blah" })).keys, [
      "cab",
      "foo",
    ]),
  test_bucket_list_marker_after_list: async world =>
    assert.deepEqual(
      shown(await v1(world, await world.bucketOf(...FRUIT), { Marker: "zzz" })),
      page([], [], false),
    ),
  test_bucket_listv2_continuationtoken_empty: async world =>
    refused(v2(world, await world.bucketOf(...FRUIT), { ContinuationToken: "" }), 400, "InvalidArgument"),
  test_bucket_listv2_continuationtoken: async world => {
    const bucket = await world.bucketOf(...FRUIT)
    const { NextContinuationToken: token } = await v2(world, bucket, { MaxKeys: 1 })
    const reply = await v2(world, bucket, { ContinuationToken: token })
    assert.deepEqual([shown(reply).keys, reply.ContinuationToken], [FRUIT.slice(1), token])
  },
  test_bucket_listv2_both_continuationtoken_startafter: async world => {
    const bucket = await world.bucketOf(...FRUIT)
    const first = await v2(world, bucket, { StartAfter: "bar", MaxKeys: 1 })
    assert.deepEqual([shown(first).keys, first.StartAfter], [["baz"], "bar"])
    const reply = await v2(world, bucket, {
      StartAfter: "bar",
      ContinuationToken: first.NextContinuationToken,
    })
    assert.deepEqual(shown(reply), page(["cab", "foo"], [], false))
  },
  test_bucket_listv2_startafter_not_in_list: async world =>
    assert.deepEqual(shown(await v2(world, await world.bucketOf(...FRUIT), { StartAfter: "blah" })).keys, [
      "cab",
      "foo",
    ]),
  test_bucket_listv2_startafter_after_list: async world =>
    assert.deepEqual(shown(await v2(world, await world.bucketOf(...FRUIT), { StartAfter: "zzz" })).keys, []),
  test_bucket_listv2_fetchowner_notempty: async world => {
    const { Contents = [] } = await v2(world, await world.bucketOf("foo"), { FetchOwner: true })
    assert.ok(Contents[0]?.Owner?.ID)
  },
  test_bucket_listv2_fetchowner_defaultempty: async world => {
    const { Contents = [] } = await v2(world, await world.bucketOf("foo"))
    assert.equal(Contents[0]?.Owner, undefined)
  },
  test_basic_key_count: async world => {
    const bucket = await world.bucketOf("0", "1", "2", "3", "4")
    assert.equal((await v2(world, bucket)).KeyCount, 5)
  },
  test_bucket_list_return_data: async world => {
    const bucket = await world.bucketOf()
    const etag = await world.put(bucket, "k", "12345")
    const { Contents = [] } = await v1(world, bucket)
    const [object] = Contents
    assert.deepEqual([object?.ETag, object?.Size, object?.StorageClass], [etag, 5, "STANDARD"])
    assert.ok(object?.LastModified instanceof Date && object.Owner?.ID)
  },
  test_bucket_notexist: world => refused(v1(world, "no-such-bucket"), 404, "NoSuchBucket"),
  test_bucketv2_notexist: world => refused(v2(world, "no-such-bucket"), 404, "NoSuchBucket"),
  test_versioning_obj_list_marker: async world => {
    const bucket = await world.bucketOf(...FRUIT)
    const { s3 } = world
    const first = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket, MaxKeys: 3 }))
    assert.deepEqual(
      first.Versions?.map(({ Key, VersionId, IsLatest }) => [Key, VersionId, IsLatest]),
      FRUIT.slice(0, 3).map(key => [key, "null", true]),
    )
    const rest = await s3.send(
      new ListObjectVersionsCommand({ Bucket: bucket, KeyMarker: first.NextKeyMarker }),
    )
    assert.deepEqual(
      rest.Versions?.map(({ Key }) => Key),
      ["foo"],
    )
  },
})
