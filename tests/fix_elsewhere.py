"""Blocks of commands that no console runs: the test that does what they say, or why none can.

Page -> how the block begins (or its kind, where it has one of its own) -> `folder/test_file` and
`::test_name`, which a file of one test needs not; then, after a comma, what that leaves out. Or
`not here: ` and the reason.
"""

from __future__ import annotations

TARGETS = "house/test_contributing::test_the_targets_that_are_named_are_there"
GRANTS = "warehouse/test_roles_grants::test_the_commands"
FROM_NOTHING = "acceptance/test_sync::test_a_warehouse_from_nothing"
INSTALLED = "distributions/test_installed::test_both_install_together_and_work"
FIPS = "fips/test_module::test_install_prints_the_environment, but the build"
AS_ROOT = "not here: it installs what the test finds installed, "
ELSEWHERE: dict[str, dict[str, str]] = {
    "README.md": {
        "make demo": "network/test_doors"
        "::test_the_demo_speaks_to_its_own_unix_socket_whatever_the_mode",
        "satchel setup": "setup/test_command::test_from_asking_to_undoing",
    },
    "CONTRIBUTING.md": {
        "make check test": TARGETS,
    },
    "docs/CRYPTO.md": {
        "satchel crypto fips build": FIPS,
    },
    "docs/DEPLOY.md": {
        "console hub": "hub_deploy/test_guide",
        "console machine": "hub_deploy/test_guide",
        "console rescue": "hub_deploy/test_new_server",
        "console maker": "kit/test_install::test_a_kit_on_machines_without_a_network",
        "console site": "kit/test_install::test_a_kit_on_machines_without_a_network",
        "python3 -m venv ~/satchel": f"{INSTALLED}, but the model and what pip fetches",
        "~/satchel/bin/pip download": f"{INSTALLED}, but what pip fetches",
        "satchel config set warehouse.dsn": "hub_deploy/test_guide",
        "satchel backup": "not here: it takes the wheels of two releases, and there is one,"
        " see backup/test_backup and versions/test_kept",
        "satchel crypto fips build": FIPS,
        "install -d -m 711 secrets": "hub_deploy/test_guide",
        "docker compose build admin": "not here: it takes a docker daemon,"
        " see hub_deploy/test_compose",
        "apt-get install postgresql": AS_ROOT + "see distributions/test_installed",
        "/opt/satchel/bin/pip install --no-index": AS_ROOT
        + "see distributions/test_installed for the wheels",
        "satchel schedule install": "schedule/test_schedule_command"
        "::test_the_command_writes_units_under_the_users_folder",
    },
    "docs/DISTRIBUTED.md": {
        "satchel warehouse init --partitions": "warehouse_layout/test_partitions"
        "::test_the_command_asks_for_them",
        "createdb memory_new": "warehouse_layout/test_partitions"
        "::test_the_rows_of_a_warehouse_move_into_one_with_partitions",
    },
    "docs/MODELS.md": {
        "pip install --no-index": "model_change/test_packs::test_packed_installed_and_found",
        "~/satchel/venv/bin/python": "kit/test_other_model"
        "::test_it_is_verified_by_its_name_and_used_as_told",
    },
    "docs/REPORTS.md": {
        "satchel report list": "reports/test_command::test_the_figures_are_those_of_the_story",
        "0 6 * * *": "reports/test_command::test_files_by_the_command",
    },
    "docs/REPORT_VIEWS.md": {
        "satchel warehouse grant --reporter": GRANTS,
    },
    "docs/SIZING.md": {
        "createdb trial": "warehouse_scale/test_seed::test_the_command",
        "pg_basebackup": "warehouse_scale/test_standby::test_it_follows_the_primary",
    },
    "docs/WAREHOUSE.md": {
        "satchel warehouse serve-embedded": FROM_NOTHING,
        "satchel warehouse seed": "warehouse_scale/test_seed::test_the_command",
        "createdb memory": f"{FROM_NOTHING}, but the database",
        "python -m satchel_warehouse.deploy": "warehouse_layout/test_by_hand"
        "::test_a_login_is_the_one_that_grant_makes",
        "satchel config set warehouse.dsn": "transport/test_tls::test_the_right_certificate_syncs",
        "satchel warehouse grant --replica laptop": GRANTS,
        "satchel config set warehouse.report_dsn": "reports/test_command"
        "::test_the_figures_are_those_of_the_story, by a variable",
        "satchel warehouse tenant add": GRANTS,
        "satchel warehouse replica list": "warehouse/test_revoke"
        "::test_a_revoked_machine_stays_out_until_it_is_taken_back",
        "satchel audit verify --warehouse": "acceptance/test_audit_warehouse"
        "::test_chains_of_two_machines_are_whole_until_a_byte_is_changed",
        "satchel warehouse refresh": "report_views/test_refresh"
        "::test_the_command_tells_what_it_made",
        "satchel warehouse grant --reporter una": "warehouse_search/test_rights"
        "::test_a_searcher_sees_its_tenant_and_nothing_of_another",
        "satchel config set network.warehouse.metrics": "warehouse_operations/test_metrics"
        "::test_a_scraper_on_this_machine_gets_them_and_a_page_of_the_web_does_not",
        "pg_dump": "warehouse_operations/test_backup_check"
        "::test_a_sound_dump_is_written_down_and_what_changed_since_is_no_fault",
        "dropdb memory": "warehouse_operations/test_restore"
        "::test_the_walk_through_brings_back_all_that_machines_hold",
    },
}
