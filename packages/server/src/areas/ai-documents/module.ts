import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const aiDocuments = defineModule({
  name: "ai-documents",
  title: "AiDocuments",
  contract: [areas.aiDocuments],
  needs,
  migrations: { schema: "ai_documents", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  load: () => import("./area.ts"),
})
