/** The examples of AWS's own documentation: "Signature Calculations for the Authorization Header" of the S3 API. */
import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { isFault } from "../../kernel/fault.ts"
import {
  canonicalRequest,
  isSameSignature,
  isSigned,
  readClaim,
  type SignableRequest,
  signatureOf,
  signingKeyOf,
} from "./sigv4.ts"

const ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE"
const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
const SCOPE = "20130524/us-east-1/s3/aws4_request"
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const requestOf = (method: string, target: string, headers: Record<string, string>): SignableRequest => ({
  method,
  target,
  header: name => headers[name],
})

const authorization = (signedHeaders: string, signature: string) =>
  `AWS4-HMAC-SHA256 Credential=${ACCESS_KEY_ID}/${SCOPE},SignedHeaders=${signedHeaders},Signature=${signature}`

const host = "examplebucket.s3.amazonaws.com"

interface Example {
  readonly what: string
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly signedHeaders: string
  readonly signature: string
}

const examples: readonly Example[] = [
  {
    what: "GET of an object with a range",
    method: "GET",
    target: "/test.txt",
    headers: {
      host,
      range: "bytes=0-9",
      "x-amz-content-sha256": EMPTY,
      "x-amz-date": "20130524T000000Z",
    },
    signedHeaders: "host;range;x-amz-content-sha256;x-amz-date",
    signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  },
  {
    what: "PUT of an object whose key is escaped",
    method: "PUT",
    target: "/test%24file.text",
    headers: {
      host,
      date: "Fri, 24 May 2013 00:00:00 GMT",
      "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      "x-amz-date": "20130524T000000Z",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
    },
    signedHeaders: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  },
  {
    what: "GET of a sub-resource",
    method: "GET",
    target: "/?lifecycle",
    headers: { host, "x-amz-content-sha256": EMPTY, "x-amz-date": "20130524T000000Z" },
    signedHeaders: "host;x-amz-content-sha256;x-amz-date",
    signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
  },
  {
    what: "GET of a list, its query in another order than it is signed in",
    method: "GET",
    target: "/?prefix=J&max-keys=2",
    headers: { host, "x-amz-content-sha256": EMPTY, "x-amz-date": "20130524T000000Z" },
    signedHeaders: "host;x-amz-content-sha256;x-amz-date",
    signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  },
]

const check = (request: SignableRequest) => {
  const claim = readClaim(request)
  return isSameSignature(signatureOf(request, claim, signingKeyOf(SECRET, claim.scope)), claim.signature)
}

for (const { what, method, target, headers, signedHeaders, signature } of examples) {
  test(`AWS's example is signed as AWS says: ${what}`, () => {
    const signed = { ...headers, authorization: authorization(signedHeaders, signature) }
    assert.ok(isSigned(target, signed.authorization))
    assert.ok(check(requestOf(method, target, signed)))
  })
}

const PRESIGNED =
  "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256" +
  "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
  "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
  "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"

test("AWS's example of a presigned URL is signed as AWS says", () => {
  assert.ok(isSigned(PRESIGNED, undefined))
  assert.ok(check(requestOf("GET", PRESIGNED, { host })))
  assert.equal(readClaim(requestOf("GET", PRESIGNED, { host })).expiresSeconds, 86_400)
})

test("whatever is changed of a signed request, its signature is wrong or cannot be read", () => {
  const [example] = examples
  assert.ok(example)
  const headers = {
    ...example.headers,
    authorization: authorization(example.signedHeaders, example.signature),
  }
  const changed: [string, SignableRequest][] = [
    ["method", requestOf("HEAD", example.target, headers)],
    ["path", requestOf("GET", "/test.tx", headers)],
    ["query", requestOf("GET", "/test.txt?versionId=1", headers)],
    ["host", requestOf("GET", example.target, { ...headers, host: "other.s3.amazonaws.com" })],
    ["range", requestOf("GET", example.target, { ...headers, range: "bytes=0-99" })],
    ["body", requestOf("GET", example.target, { ...headers, "x-amz-content-sha256": "0".repeat(64) })],
  ]
  for (const [what, request] of changed) assert.equal(check(request), false, what)
  assert.equal(check(requestOf("PUT", PRESIGNED, { host })), false)
})

const refuses = (request: SignableRequest) =>
  assert.throws(
    () => readClaim(request),
    (error: unknown) => isFault(error, "signature_malformed"),
  )

test("a claim that is not whole is refused for what it is", () => {
  const [example] = examples
  assert.ok(example)
  const good = authorization(example.signedHeaders, example.signature)
  for (const bad of [
    good.replace("s3/aws4_request", "ec2/aws4_request"),
    good.replace("20130524/", "20130525/"),
    good.replace("host;", ""),
    good.replace(/[0-9a-f]$/, "g"),
    good.replace("SignedHeaders", "Signed"),
    "AWS4-HMAC-SHA512 Credential=x",
    "AWS4-",
  ])
    refuses(requestOf("GET", "/test.txt", { ...example.headers, authorization: bad }))
  const { "x-amz-content-sha256": _, ...withoutHash } = example.headers
  refuses(requestOf("GET", "/test.txt", { ...withoutHash, authorization: good }))
  refuses(requestOf("GET", PRESIGNED, { host, authorization: good }))
  for (const bad of ["X-Amz-Expires=0", "X-Amz-Expires=604801", "X-Amz-Expires=-1", "X-Amz-Expires=1e3"])
    refuses(requestOf("GET", PRESIGNED.replace("X-Amz-Expires=86400", bad), { host }))
  refuses(requestOf("GET", `${PRESIGNED}&X-Amz-Expires=3600`, { host }))
})

test("paths and queries mean the same however they were escaped, and no two that differ mean the same", () => {
  const canonical = (target: string) =>
    canonicalRequest(requestOf("GET", target, {}), { signedHeaders: [], payloadHash: EMPTY })
  assert.equal(canonical("/a(b)/%7e?x=%2a&b=+"), canonical("/a%28b%29/~?b=%20&x=*"))
  assert.notEqual(canonical("/a/b"), canonical("/a%2Fb"))
  assert.notEqual(canonical("/?a=1%26b=2"), canonical("/?a=1&b=2"))
  const text = fc.string({ unit: "grapheme", maxLength: 20 }).filter(value => value.isWellFormed())
  fc.assert(
    fc.property(text, text, text, (a, b, value) => {
      const target = (name: string) => `/${encodeURIComponent(name)}?k=${encodeURIComponent(value)}`
      assert.equal(canonical(target(a)) === canonical(target(b)), a === b)
    }),
  )
})

test("no text makes the reading of a claim fail otherwise than by refusing it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.webQueryParameters(), (authorization, query) => {
      for (const request of [
        requestOf("GET", "/", { authorization: `AWS4-HMAC-SHA256 ${authorization}` }),
        requestOf("GET", `/?X-Amz-Signature=1&${query}`, {}),
      ])
        assert.throws(() => readClaim(request), isFault)
    }),
  )
})
