import assert from "node:assert/strict"
import { test } from "node:test"
import { decide, isPublicPolicy, matches, type PolicyRequest, readPolicy } from "./policy.ts"

const policyOf = (...statements: readonly object[]) =>
  readPolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements }), "photos")

const allowAll = {
  Effect: "Allow",
  Principal: "*",
  Action: "s3:GetObject",
  Resource: "arn:aws:s3:::photos/*",
}

const asked = (
  values: Readonly<Record<string, readonly string[]>> = {},
  more: Partial<PolicyRequest> = {},
) => ({
  principals: [],
  action: "s3:GetObject",
  resource: "photos/a/b.jpg",
  valuesOf: (key: string) => values[key],
  ...more,
})

test("a pattern takes time that does not explode", () => {
  for (const [pattern, value, fits] of [
    ["*", "", true],
    ["a*c", "abc", true],
    ["a*c", "abcd", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["*.jpg", "x/y.jpg", true],
    ["photos/*/x", "photos/a/b/x", true],
  ] as const)
    assert.equal(matches(pattern, value), fits, `${pattern} ${value}`)
  const startMs = performance.now()
  matches(`${"*a".repeat(100)}b`, "a".repeat(5000))
  assert.ok(performance.now() - startMs < 1000)
})

test("what denies is above what allows, and what nobody mentions is neither", () => {
  const policy = policyOf(allowAll, {
    ...allowAll,
    Effect: "Deny",
    Resource: "arn:aws:s3:::photos/private/*",
  })
  assert.equal(decide(policy, asked()), "allow")
  assert.equal(decide(policy, asked({}, { resource: "photos/private/x" })), "deny")
  assert.equal(decide(policy, asked({}, { action: "s3:PutObject" })), "silent")
  // Actions are compared without their case, keys of objects with it.
  assert.equal(decide(policy, asked({}, { action: "S3:GETOBJECT" })), "allow")
  assert.equal(decide(policy, asked({}, { resource: "photos/Private/x" })), "allow")
})

test("principals are named in full, and NotPrincipal is everybody else", () => {
  const named = policyOf({ ...allowAll, Principal: { AWS: ["arn:aws:iam::p1:root", "k2"] } })
  assert.equal(decide(named, asked({}, { principals: ["p1", "arn:aws:iam::p1:root"] })), "allow")
  assert.equal(decide(named, asked({}, { principals: ["p2", "k2"] })), "allow")
  assert.equal(decide(named, asked({}, { principals: ["p2"] })), "silent")
  assert.equal(decide(named, asked()), "silent")
  const { Principal: _, ...rest } = allowAll
  const others = policyOf({ ...rest, Effect: "Deny", NotPrincipal: { AWS: "p1" } })
  assert.equal(decide(others, asked({}, { principals: ["p1"] })), "silent")
  assert.equal(decide(others, asked()), "deny")
})

test("conditions hold as S3 says, on values that are there and on those that are not", () => {
  for (const [Condition, values, holds] of [
    [{ IpAddress: { "aws:SourceIp": "10.0.0.0/8" } }, { "aws:sourceip": ["10.1.2.3"] }, true],
    [{ IpAddress: { "aws:SourceIp": "10.0.0.0/8" } }, { "aws:sourceip": ["::ffff:10.1.2.3"] }, true],
    [{ IpAddress: { "aws:SourceIp": "10.0.0.0/8" } }, { "aws:sourceip": ["11.1.2.3"] }, false],
    [
      { NotIpAddress: { "aws:SourceIp": ["10.0.0.0/8", "2001:db8::/32"] } },
      { "aws:sourceip": ["2001:db8::1"] },
      false,
    ],
    [{ Bool: { "aws:SecureTransport": false } }, { "aws:securetransport": ["false"] }, true],
    [{ StringEquals: { "s3:prefix": ["a/", "b/"] } }, { "s3:prefix": ["b/"] }, true],
    [{ StringEquals: { "s3:prefix": "a/" } }, {}, false],
    [{ StringEqualsIfExists: { "s3:prefix": "a/" } }, {}, true],
    [{ StringNotEquals: { "s3:prefix": "a/" } }, {}, true],
    [{ StringNotEquals: { "s3:prefix": ["a/", "b/"] } }, { "s3:prefix": ["b/"] }, false],
    [
      { StringLike: { "aws:Referer": "https://*.example.com/*" } },
      { "aws:referer": ["https://a.example.com/"] },
      true,
    ],
    [{ Null: { "s3:x-amz-server-side-encryption": "true" } }, {}, true],
    [{ NumericLessThanEquals: { "s3:max-keys": "10" } }, { "s3:max-keys": ["11"] }, false],
    [
      { DateLessThan: { "aws:CurrentTime": "2030-01-01T00:00:00Z" } },
      { "aws:currenttime": ["2029-12-31T00:00:00Z"] },
      true,
    ],
    [
      { "ForAllValues:StringEquals": { "s3:RequestObjectTagKeys": ["a", "b"] } },
      { "s3:requestobjecttagkeys": ["a", "c"] },
      false,
    ],
    [
      { "ForAnyValue:StringEquals": { "s3:RequestObjectTagKeys": ["a", "b"] } },
      { "s3:requestobjecttagkeys": ["a", "c"] },
      true,
    ],
  ] as const)
    assert.equal(
      decide(policyOf({ ...allowAll, Condition }), asked(values)),
      holds ? "allow" : "silent",
      JSON.stringify([Condition, values]),
    )
})

test("a policy is public when it lets everybody in, unless only some addresses are meant", () => {
  assert.equal(isPublicPolicy(policyOf(allowAll)), true)
  assert.equal(isPublicPolicy(policyOf({ ...allowAll, Effect: "Deny" })), false)
  assert.equal(isPublicPolicy(policyOf({ ...allowAll, Principal: { AWS: "p1" } })), false)
  const from = (network: string) => ({ ...allowAll, Condition: { IpAddress: { "aws:SourceIp": network } } })
  assert.equal(isPublicPolicy(policyOf(from("10.0.0.0/8"))), false)
  assert.equal(isPublicPolicy(policyOf(from("0.0.0.0/0"))), true)
})

test("what cannot be meant is refused, and not passed over", () => {
  for (const [text, reason] of [
    ["{", /no JSON/],
    ["[]", /no object/],
    [{ Version: "2020-01-01", Statement: [allowAll] }, /Version/],
    [{ Version: "2012-10-17", Statement: [] }, /no statement/],
    [{ Statement: [{ ...allowAll, Condtion: {} }] }, /no Condtion/],
    [{ Statement: [{ ...allowAll, Effect: "allow" }] }, /Effect/],
    [{ Statement: [{ ...allowAll, NotPrincipal: "*" }] }, /Principal or NotPrincipal/],
    [{ Statement: [{ ...allowAll, Principal: { AWS: "arn:aws:iam::*:root" } }] }, /principal/],
    [{ Statement: [{ ...allowAll, Action: "ec2:Run" }] }, /Action/],
    [{ Statement: [{ ...allowAll, Resource: "arn:aws:s3:::other/*" }] }, /another bucket/],
    [{ Statement: [{ ...allowAll, Condition: { StringIs: { a: "b" } } }] }, /no condition StringIs/],
    [{ Statement: [{ ...allowAll, Condition: { toString: { a: "b" } } }] }, /no condition toString/],
    [
      { Statement: [{ ...allowAll, Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/33" } } }] },
      /no address/,
    ],
  ] as const)
    assert.throws(() => readPolicy(typeof text === "string" ? text : JSON.stringify(text), "photos"), reason)
})
