/** The keychains of macOS and Windows, through the programs these systems bring. No secret is ever an argument. */
import { spawn } from "node:child_process"
import { type Terminal, UsageError } from "./terminal.ts"

/** Keys by the address they were given for, so that none is ever sent to another. */
export interface Keychain {
  /** For messages. */
  readonly name: string
  find(url: string): Promise<string | undefined>
  save(url: string, key: string): Promise<void>
  /** Whether there was one. */
  remove(url: string): Promise<boolean>
}

type Env = Terminal["env"]

const SERVICE = "svc"
const TIMEOUT_MS = 30_000

interface ProcessResult {
  readonly code: number | null
  readonly output: string
}

/** Runs a program with `input` on its standard input. */
const run = (program: string, args: readonly string[], input: string, env: Env): Promise<ProcessResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...env },
      timeout: TIMEOUT_MS,
      stdio: ["pipe", "pipe", "ignore"],
    })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk
    })
    child.on("error", error => reject(new UsageError(`${program} cannot be run: ${error.message}`)))
    child.on("close", code => resolve({ code, output: output.trim() }))
    // A program that ends without reading closes the pipe; its exit code tells the rest.
    child.stdin.on("error", () => {}).end(input)
  })

/** `security` of macOS reads commands from its standard input, which keeps the key out of the process list. */
export const macosKeychain = (env: Env): Keychain => ({
  name: "the macOS keychain",
  async find(url) {
    const { code, output } = await run(
      "security",
      ["find-generic-password", "-s", SERVICE, "-a", url, "-w"],
      "",
      env,
    )
    return code === 0 && output !== "" ? output : undefined
  },
  async save(url, key) {
    const command = `add-generic-password -U -s ${SERVICE} -a "${quotable(url)}" -w "${quotable(key)}"\n`
    const { code } = await run("security", ["-i"], command, env)
    if (code !== 0) throw new UsageError("the macOS keychain did not take the key")
  },
  async remove(url) {
    const { code } = await run("security", ["delete-generic-password", "-s", SERVICE, "-a", url], "", env)
    return code === 0
  },
})

const quotable = (text: string): string => {
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text))
    throw new UsageError("quotes, spaces and backslashes do not fit here")
  return text
}

// The vault is a Windows Runtime class, which only Windows PowerShell (5.1, part of the system) can load.
const windowsScript = `
$ErrorActionPreference = "Stop"
$request = [Console]::In.ReadToEnd() | ConvertFrom-Json
[void][Windows.Security.Credentials.PasswordVault, Windows.Security.Credentials, ContentType = WindowsRuntime]
$vault = New-Object Windows.Security.Credentials.PasswordVault
function Find { try { $vault.Retrieve("${SERVICE}", $request.url) } catch { $null } }
$entry = Find
switch ($request.act) {
  "find" { if ($entry) { $entry.RetrievePassword(); [Console]::Out.Write($entry.Password) } else { exit 3 } }
  "save" {
    if ($entry) { $vault.Remove($entry) }
    $vault.Add((New-Object Windows.Security.Credentials.PasswordCredential("${SERVICE}", $request.url, $request.key)))
  }
  "remove" { if ($entry) { $vault.Remove($entry) } else { exit 3 } }
}
`

/** The Credential Manager of Windows. The script is constant; address and key travel on its standard input. */
export const windowsKeychain = (env: Env): Keychain => {
  const script = Buffer.from(windowsScript, "utf16le").toString("base64")
  const ask = (request: { act: "find" | "save" | "remove"; url: string; key?: string }) =>
    run(
      "powershell.exe",
      ["-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", script],
      JSON.stringify(request),
      env,
    )
  return {
    name: "the Windows Credential Manager",
    async find(url) {
      const { code, output } = await ask({ act: "find", url })
      return code === 0 && output !== "" ? output : undefined
    },
    async save(url, key) {
      const { code } = await ask({ act: "save", url, key })
      if (code !== 0) throw new UsageError("the Windows Credential Manager did not take the key")
    },
    async remove(url) {
      const { code } = await ask({ act: "remove", url })
      return code === 0
    },
  }
}
