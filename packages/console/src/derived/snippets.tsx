/** The same call from elsewhere. */
import type { Sent } from "../calls.ts"
import type { Details, OperationRow } from "../model.ts"
import { Copy } from "../ui/copy.tsx"
import { unspoken } from "./form-state.ts"
import { cliOf, mcpOf } from "./lines.ts"
import { curlOf, type Input, sdkOf } from "./request.ts"

const Snippet = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <details>
    <summary>{title}</summary>
    <div className="code-box">
      <Copy text={text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  </details>
)

/** What needs a signed-in person, or another kind of caller, is none of a key's commands and tools. */
const isForKeys = ({ caller }: OperationRow, details: Details): boolean =>
  caller === "s" && details.scopes !== undefined && unspoken(details) === undefined

const isJson = ({ sends = "json", replies = "json" }: Details): boolean =>
  sends === "json" && (replies === "json" || replies === "bytes")

export const Snippets = ({
  sent,
  input,
  operation,
  details,
}: {
  readonly sent: Sent
  readonly input: Input
  readonly operation: OperationRow
  readonly details: Details
}) => (
  <div className="snippets">
    <Snippet title="As curl" text={curlOf(sent, operation.caller)} />
    <Snippet title="As TypeScript" text={sdkOf(operation, input)} />
    {isForKeys(operation, details) && (
      <>
        <Snippet title="As a command" text={cliOf(operation, input.fields)} />
        {isJson(details) && (
          <Snippet title="As a tool of an agent (MCP)" text={mcpOf(operation, input.fields)} />
        )}
      </>
    )}
  </div>
)
