/**
 * `node tools/s3-suite.ts [part of a test's name …]`: fetches ceph's s3-tests, at a fixed commit and outside of this tree,
 * and runs them against a platform of its own. Families about features that are missing are left out by name, unless
 * `--all` is given. Failures are counted by reason; it ends with 1 if one has none. SVC_S3_TESTS_DIR says where they are kept; SVC_S3_TESTS_SOURCE names a clone to take them from.
 */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemClock } from "../packages/server/src/kernel/clock.ts"
import { platform } from "../packages/server/src/testing/platform.ts"
import { groupFailures, readResults, UNEXPLAINED } from "./s3-suite/groups.ts"

const SOURCE = process.env.SVC_S3_TESTS_SOURCE ?? "https://github.com/ceph/s3-tests.git"
const COMMIT = "8f0ae7b404a3a2fcf7038bf1e6bf29544fe9b6a3"
const folder = process.env.SVC_S3_TESTS_DIR ?? join(tmpdir(), "svc-s3-tests")
const suite = join(folder, "suite")
const python = join(folder, "python")

const PACKAGES = [
  ...["boto3==1.44.5", "pytest==9.2.0", "pytest-timeout==2.4.0", "PyYAML==6.0.3", "munch==4.0.0"],
  ...[
    "gevent==26.9.0",
    "isodate==0.7.2",
    "requests==2.34.2",
    "pytz==2026.6",
    "httplib2==0.32.1",
    "lxml==6.1.3",
  ],
]

/** Markers of families that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  lifecycle: "rules are carried out at midnight, and the cases wait for minutes",
  bucket_logging: "logs of access in a bucket are missing, and the cases wait for minutes",
  cloud_transition: "needs a second cloud",
  cloud_restore: "needs a second cloud",
}

const run = (program: string, words: readonly string[], cwd: string): void => {
  const { status } = spawnSync(program, words, { cwd, stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}`)
}

const fetchSuite = (): void => {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(suite)) {
    const clone = join(folder, "clone")
    if (!existsSync(clone)) run("git", ["clone", "--quiet", "--no-checkout", SOURCE, clone], folder)
    mkdirSync(suite)
    run("git", ["archive", "--output", join(folder, "suite.tar"), COMMIT], clone)
    run("tar", ["-xf", join(folder, "suite.tar"), "-C", suite], folder)
  }
  if (!existsSync(python)) run("python3", ["-m", "venv", python], folder)
  run(join(python, "bin", "pip"), ["install", "--quiet", ...PACKAGES], folder)
}

interface User {
  readonly name: string
  readonly projectId: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const section = (
  title: string,
  { name, projectId, accessKeyId, secretAccessKey }: User,
  more = "",
): string => `
[${title}]
display_name = ${name}
user_id = ${projectId}
email = ${name}@example.com
access_key = ${accessKeyId}
secret_key = ${secretAccessKey}
${more}`

/** Roles and users of IAM are missing; the suite reads these sections all the same. */
const configuration = (port: string, [main, alt, tenant]: readonly [User, User, User]): string => `
[DEFAULT]
host = localhost
port = ${port}
is_secure = False
ssl_verify = False

[fixtures]
bucket prefix = svc-{random}-
${section("s3 main", main, "api_name = us-east-1")}${section("s3 alt", alt)}${section("s3 tenant", tenant, "tenant = testx")}
${section("iam", main)}${section("iam root", main)}${section("iam alt root", alt)}`

const runSuite = (names: readonly string[], isWhole: boolean): Promise<void> => {
  const left = isWhole ? [] : Object.keys(LEFT_OUT)
  const words = [
    ...["-q", "--no-header", "--tb=line", "--timeout=120", "--junitxml", "result.xml"],
    ...(left.length > 0 ? ["-m", `not (${left.join(" or ")})`] : []),
    ...(names.length > 0 ? ["-k", names.join(" or ")] : []),
    ...["s3tests/functional/test_s3.py", "s3tests/functional/test_headers.py"],
  ]
  const child = spawn(join(python, "bin", "pytest"), words, {
    cwd: suite,
    stdio: "inherit",
    env: { ...process.env, S3TEST_CONF: join(suite, "svc.conf") },
  })
  return new Promise(resolve => child.once("exit", () => resolve()))
}

fetchSuite()
const ends: (() => unknown)[] = []
// The suite's requests without a signature go to the root, which is S3's on its own domain alone.
const p = await platform(
  { after: end => void ends.unshift(end) },
  { env: { SVC_S3_DOMAIN: "localhost" }, clock: systemClock },
)

const userOf = async (name: string): Promise<User> => {
  const { projectId } = await p.tenant(name)
  const svc = await p.client(name, "storage:read", "storage:write")
  const got = await svc.s3.credentials()
  return { name, projectId, accessKeyId: got.access_key_id, secretAccessKey: got.secret_access_key }
}

const users = [await userOf("main"), await userOf("alt"), await userOf("tenant")] as const
writeFileSync(join(suite, "svc.conf"), configuration(new URL(p.url).port, users))
const words = process.argv.slice(2)
const isWhole = words.includes("--all")
await runSuite(
  words.filter(word => word !== "--all"),
  isWhole,
)
for (const end of ends) await end()
const results = readResults(readFileSync(join(suite, "result.xml"), "utf8"))
const groups = groupFailures(results.failures)
process.stdout.write(
  `\npassed ${results.passed}, skipped ${results.skipped}, failed ${results.failures.length}:\n`,
)
for (const { reason, names } of groups)
  process.stdout.write(`${String(names.length).padStart(5)}  ${reason}\n`)
const unexplained = groups.find(({ reason }) => reason === UNEXPLAINED)?.names ?? []
for (const name of unexplained) process.stdout.write(`       ${name}\n`)
if (!isWhole)
  for (const [marker, reason] of Object.entries(LEFT_OUT)) process.stdout.write(`- ${marker}: ${reason}\n`)
process.exit(unexplained.length === 0 ? 0 : 1)
