import asyncio
import os
import shutil
from pathlib import Path
from tempfile import gettempdir

from fastmcp import Client
from fastmcp.utilities.logging import configure_logging

async def main(code_file: str, verbose: bool) -> None:
    fault_path = shutil.which("fault") # (1)!
    if not fault_path:
        print("fault: command not found")
        return

    args = []
    if verbose:
        configure_logging("DEBUG")
        args = ["--log-file", str(Path(gettempdir()) / "fault.log"), "--log-level", "debug"]
    
    args.append("agent")
    args.append("tool")

    config = {  # (2)!
        "mcpServers": {
            "local": {
                "command": fault_path,
                "args": args,
            },
        }
    }

    async with Client(config) as client:   # (3)!
        p = await client.call_tool(   # (4)!
            "fault_list_function_names", {
                "file": code_file,   # (5)!
            })
        
        print(p)

if __name__ == "__main__":
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose",action='store_true')
    parser.add_argument("source_dir")
    args = parser.parse_args()

    asyncio.run(main(args.source_dir, args.verbose))
