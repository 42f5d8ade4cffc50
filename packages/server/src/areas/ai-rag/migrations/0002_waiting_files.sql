-- Files that wait to be read, by the owner that they have on the blob port.
CREATE INDEX documents_files ON ai_rag.documents (id) WHERE address IS NOT NULL;
